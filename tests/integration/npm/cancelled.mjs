// Resolves when a request is cancelled. The token of one that was cancelled before it was looked at
// tells nobody any more.
export const cancelled = (token) => new Promise((resolve) => {
  if (token.isCancellationRequested) resolve();
  else token.onCancellationRequested(resolve);
});
