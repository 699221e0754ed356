// Cursors and entity tags of lists: what of them a client sends back, and whether it is of this very query. Both are
// opaque to clients, and neither is a secret.
import { base64url } from "jose";
import * as z from "zod/mini";
import type { SearchPosition } from "../fleet/machine-search.ts";

/** 96 bits of the SHA-256. */
export async function shortDigestOf(...texts: string[]): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(texts.join("\n")));
  return base64url.encode(new Uint8Array(digest, 0, 12));
}

const cursorSchema = z.tuple([z.string(), z.union([z.string(), z.number()]), z.string()]);

/** `digest`: of the query that it belongs to. */
export function cursorOf({ key, id }: SearchPosition, digest: string): string {
  return base64url.encode(JSON.stringify([digest, key, id]));
}

/** null: it is none, or of another query. */
export function positionOf(cursor: string, digest: string): SearchPosition | null {
  try {
    const parsed = cursorSchema.safeParse(JSON.parse(new TextDecoder().decode(base64url.decode(cursor))));
    if (!parsed.success) return null;
    const [own, key, id] = parsed.data;
    return own === digest ? { key, id } : null;
  } catch {
    return null;
  }
}

/** Weak: an answer with the same meaning. `seq`: of the last change that is in it. */
export const tagOf = (seq: number, digest: string) => `W/"${seq}-${digest}"`;

/** The last change that is in an answer which the client has; null: it has none to this request. */
export function seqKnown(ifNoneMatch: string | undefined, digest: string): number | null {
  for (const [, seq, own] of (ifNoneMatch ?? "").matchAll(/"(\d{1,15})-([\w-]+)"/g))
    if (own === digest) return Number(seq);
  return null;
}
