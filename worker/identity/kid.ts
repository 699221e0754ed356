// The `kid` of an enrolled machine names its key and enrolment. Its MAC lets the Worker refuse a foreign one before any
// object is woken: that limits costs. Identity is proven by the pinned key.
import { isMacOf, type MacKey, macOf, signingKey } from "./mac-keys.ts";

interface Named {
  /** RFC 7638 thumbprint of the machine's key. */
  thumbprint: string;
  enrolment: string;
}

function macText(name: string, { thumbprint, enrolment }: Named): string {
  return `rollcall-kid\n${name}\n${thumbprint}\n${enrolment}`;
}

export async function issueKid(
  key: MacKey,
  name: string,
  thumbprint: string,
  enrolment: string,
): Promise<string> {
  const mac = await macOf(key, "kid", macText(name, { thumbprint, enrolment }));
  return `${key.id}.${thumbprint}.${enrolment}.${mac}`;
}

/** A kid by the first of the configured keys. */
export async function newKid(
  macKeys: readonly MacKey[],
  name: string,
  { thumbprint, id }: { thumbprint: string; id: string },
): Promise<string> {
  return issueKid(signingKey(macKeys), name, thumbprint, id);
}

/** Did one of these keys issue this kid for this name? */
export async function isIssuedKid(keys: readonly MacKey[], name: string, kid: string): Promise<boolean> {
  const [macKeyId, thumbprint, enrolment, mac, ...rest] = kid.split(".");
  const key = keys.find(({ id }) => id === macKeyId);
  if (!key || !thumbprint || !enrolment || !mac || rest.length > 0) return false;
  return isMacOf(key, "kid", { text: macText(name, { thumbprint, enrolment }), mac });
}
