// Makes the registry's tables without the rest of the registry. Each name is an empty registry.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { tokenRequestSchema } from "../../../shared/protocol/join-tokens.ts";
import type { FreshlyAsking } from "../../../worker/registry/pins.ts";
import { insertToken } from "../../../worker/registry/tokens.ts";

export const withinRegistry = <Outcome>(name: string, act: (sql: SqlStorage) => Outcome): Promise<Outcome> =>
  runInDurableObject(env.REGISTRY.getByName(name), (_, { storage }) => act(storage.sql));

/** Returns a machine with this key that asks for the name edge-1 with the token t1. */
export function asking(thumbprint: string, more: Partial<FreshlyAsking> = {}): FreshlyAsking {
  const machine = { key: `x of ${thumbprint}`, machineID: "m-1", systemUUID: "s-1", address: "" };
  return {
    token: "t1",
    name: "edge-1",
    thumbprint,
    machine,
    challengedAtMs: Number.MAX_SAFE_INTEGER,
    ...more,
  };
}

/**
 * Adds a join token that is valid from the time 0 for a thousand seconds, once, for the name edge-1. `wish`
 * replaces fields.
 */
export function addToken(sql: SqlStorage, id: string, wish: Record<string, unknown> = {}): void {
  const request = tokenRequestSchema.parse({ names: "edge-1", expiresInSeconds: 1000, uses: 1, ...wish });
  insertToken(sql, { id, key: `x of ${id}`, request, createdBy: "a test", nowMs: 0 });
}
