// Makes a passkey of an operator, and lets it sign a question to a machine whose owner has pinned it. The browser and its
// authenticator keep the key; the page stores nothing.
import {
  operatorKeyLine,
  passkeyProof,
  type ProvedQuestion,
  proofText,
} from "../../../shared/protocol/question-proof.ts";

/** true if this browser has passkeys for this page: it comes over https, or from this computer, by a name. */
export const hasPasskeys = (): boolean =>
  isSecureContext && "PublicKeyCredential" in window && !/^[\d.:[\]]+$/.test(location.hostname);

/** ES256, as COSE has it. */
const ES256 = -7;
/** The bytes of an uncompressed point, with which a public key in DER ends. */
const POINT_BYTES = 65;
/** Shorter than a challenge of a machine is valid. */
const WITHIN_MS = 50_000;

/** The name of a passkey in the browser, and the comment of its line. */
const NAME = "rollcall";

/** Makes a passkey. Returns its public line, for the file of --questions-from. Rejects if the user declines. */
export async function makePasskey(): Promise<string> {
  const credential = (await navigator.credentials.create({
    publicKey: {
      // Only a proof of where the key is stored would use the challenge.
      challenge: random(),
      rp: { name: NAME },
      user: { id: random(), name: NAME, displayName: NAME },
      pubKeyCredParams: [{ type: "public-key", alg: ES256 }],
      authenticatorSelection: { residentKey: "required", userVerification: "required" },
    },
  })) as PublicKeyCredential;
  const made = (credential.response as AuthenticatorAttestationResponse).getPublicKey();
  if (made === null) throw new Error("the browser does not return the public key");
  const key = base64url(made.slice(-POINT_BYTES));
  return operatorKeyLine({ key, origin: location.origin, comment: NAME });
}

/** Lets a passkey of this page sign a question. Returns the proof. Rejects if the user declines. */
export async function signQuestion(asked: ProvedQuestion): Promise<string> {
  const challenge = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(proofText(asked)));
  const credential = (await navigator.credentials.get({
    publicKey: { challenge, userVerification: "required", timeout: WITHIN_MS },
  })) as PublicKeyCredential;
  const { authenticatorData, clientDataJSON, signature } =
    credential.response as AuthenticatorAssertionResponse;
  return passkeyProof({
    challenge: asked.challenge,
    authenticatorData: base64url(authenticatorData),
    clientData: base64url(clientDataJSON),
    signature: base64url(signature),
  });
}

const random = () => crypto.getRandomValues(new Uint8Array(32));

function base64url(bytes: ArrayBuffer): string {
  const text = btoa(String.fromCharCode(...new Uint8Array(bytes)));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
