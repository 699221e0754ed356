// Parses a verified rotation, and verifies possession of the next key. Pins nothing.
import { rotationSchema } from "../../shared/protocol/claims.ts";
import type { PublicKey } from "../storage/records.ts";
import { verifyNextKey } from "../identity/jwt.ts";
import type { SignedRequest } from "./pinned-keys.ts";

/** null for anything but a proof by another key that it replaces `previous` on this machine. */
export async function parseRotation(
  { name, body }: SignedRequest,
  { path, previous, origins }: { path: string; previous: string; origins: string[] },
): Promise<PublicKey | null> {
  const parsed = rotationSchema.safeParse(parseJson(body));
  if (!parsed.success) return null;
  const expected = { name, method: "POST", path, origins, previous };
  const next = await verifyNextKey(parsed.data.proof, expected);
  return next.ok ? next.value : null;
}

function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(body));
  } catch {
    return undefined;
  }
}
