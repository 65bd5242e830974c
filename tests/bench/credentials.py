"""What clients of a gateway that asks who calls show, and what its configuration knows of them.

Made anew for each program that is measured, by the openssl command.
"""
import base64
import hashlib
import json
import subprocess

KEY = "a-key-of-somebody-who-calls"
API_KEY = f"X-API-Key: {KEY}"

# The last of three rules decides. METHOD_RULES: for a backend of plain JSON-RPC. TOOL_RULES: for an
# MCP server.
METHOD_RULES = ('rules: [ { allow: [admin] }, { allow: [caller], methods: ["read_*"] }, '
                '{ allow: [caller], methods: ["*"], except: ["delete_*"] } ]')
TOOL_RULES = METHOD_RULES.replace("methods", "tools")


def openssl(*words, text=None):
    return subprocess.run(["openssl", *words], input=text, check=True, capture_output=True).stdout


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def auth_section(folder):
    """The configuration's `auth`, for API_KEY and for token_field()."""
    hashed = hashlib.sha256(KEY.encode()).hexdigest()
    return (f'auth: {{ public_url: "https://bench", '
            f'api_keys: [ {{ name: caller, hash: "sha256:{hashed}", roles: [caller] }} ], '
            f'jwt: [ {{ issuer: bench, audience: [bench], jwks: {{ file: "{folder}/keys.json" }} }} ] }}')


def token_field(folder):
    """A token of an Ed25519 key, whose public half is left in FOLDER/keys.json."""
    openssl("genpkey", "-algorithm", "ed25519", "-out", f"{folder}/issuer.pem")
    # The key is in the last 32 bytes of its structure (RFC 8410).
    public = openssl("pkey", "-in", f"{folder}/issuer.pem", "-pubout", "-outform", "DER")[-32:]
    with open(f"{folder}/keys.json", "w", encoding="utf-8") as file:
        json.dump({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "k", "x": base64url(public)}]}, file)
    header = {"alg": "EdDSA", "kid": "k", "typ": "JWT"}
    claims = {"iss": "bench", "aud": "bench", "sub": "caller", "exp": 9999999999}
    signed = ".".join(base64url(json.dumps(part).encode()) for part in (header, claims))
    with open(f"{folder}/signed", "w", encoding="utf-8") as file:
        file.write(signed)
    signature = openssl("pkeyutl", "-sign", "-rawin", "-inkey", f"{folder}/issuer.pem", "-in", f"{folder}/signed")
    return f"Authorization: Bearer {signed}.{base64url(signature)}"


def make_certificate(folder):
    """FOLDER/tls.crt and FOLDER/tls.key, for localhost."""
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
            "-keyout", f"{folder}/tls.key", "-out", f"{folder}/tls.crt")
