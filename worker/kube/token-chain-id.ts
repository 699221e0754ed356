// Names the chain of tokens that begins with a secret. Whoever has the name learns nothing of the secret.
import { base64url } from "jose";

/** What a chain belongs to. Where one of them is another, so is the chain. */
export interface ChainOrigin {
  KUBE_TOKEN: string;
  KUBE_URL: string;
  DEPLOYMENT: string;
}

/** A SHA-256, in base64url. */
export async function tokenChainId({ KUBE_TOKEN, KUBE_URL, DEPLOYMENT }: ChainOrigin): Promise<string> {
  const text = JSON.stringify(["rollcall-token-chain", KUBE_TOKEN, KUBE_URL, DEPLOYMENT]);
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return base64url.encode(new Uint8Array(digest));
}
