// Resolves when a request is cancelled. The event of a token does not fire if the token was
// cancelled before.
export const cancelled = (token) => new Promise((resolve) => {
  if (token.isCancellationRequested) resolve();
  else token.onCancellationRequested(resolve);
});
