// Tests which enrolments reach the registry: those with a token that the deployment has minted.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { makeMachineKey } from "../../../../node-shim/identity/identity.ts";
import type { Problem } from "../../../../shared/protocol/answers.ts";
import { registry } from "../../../../worker/env.ts";
import { parseMacKeys } from "../../../../worker/identity/mac-keys.ts";
import { mintJoinToken } from "../../../../worker/identity/join-token.ts";
import { RegistryObject } from "../../../../worker/registry/registry-object.ts";
import { insertToken } from "../../../../worker/registry/tokens.ts";
import { during, shift } from "../../support/clock.ts";
import { inventedToken, withoutStamp } from "../../support/invented-tokens.ts";
import { enrolmentBody, enrolmentPath } from "../../support/enrolling.ts";
import { enrolling, mintToken, send } from "../../support/machine.ts";

const REFUSED = { reason: "token-refused", status: 401 };
const WAITS = { reason: "busy", status: 503 };
/** The time for which the Worker holds back the answer to a shim that does not wait by itself. */
const HELD_MS = 8000;
const ENROLLED = { kid: expect.any(String) };
const MINUTE_MS = 60_000;

let tests = 0;
/** Returns the number of requests to the registry since the test began. */
let calls: () => { admit: number; tokenIds: number };
beforeEach(() => {
  const admit = vi.spyOn(RegistryObject.prototype, "admit");
  const tokenIds = vi.spyOn(RegistryObject.prototype, "tokenIds");
  calls = () => ({ admit: admit.mock.calls.length, tokenIds: tokenIds.mock.calls.length });
  // Each test begins hours after the test before, so that the isolate asks for a new list.
  shift(++tests * 60 * MINUTE_MS);
});
afterEach(() => void vi.restoreAllMocks());

let names = 0;
const enrols = async (joinToken: string) =>
  enrolling(`invented-${++names}`, { joinToken, key: await makeMachineKey() });
const waiting = (joinToken: string) => during(HELD_MS, enrols(joinToken));

describe("a token with a stamp", () => {
  it("that the deployment has minted → enrols, without a list of tokens", async () => {
    expect(await enrols(await mintToken())).toMatchObject(ENROLLED);
    expect(calls()).toEqual({ admit: 1, tokenIds: 0 });
  });

  it("that is invented → refused, and the registry gets no request", async () => {
    for (let at = 0; at < 20; at++) expect(await enrols(inventedToken())).toEqual(REFUSED);
    expect(calls()).toEqual({ admit: 0, tokenIds: 0 });
  });

  it("by an earlier key of KID_MAC_KEYS → enrols; by a key that is not configured → refused", async () => {
    const planted = async (macKeys: string) => {
      const { token, ...minted } = await mintJoinToken(parseMacKeys(macKeys));
      const request = {
        names: "*",
        expiresInSeconds: 600,
        uses: 1,
        rejoin: false,
        withoutFactsOnlyTaint: false,
      };
      await runInDurableObject(registry(env), (_, { storage }) =>
        insertToken(storage.sql, { ...minted, request, createdBy: "a test", nowMs: Date.now() }),
      );
      return token;
    };
    const keys = env.KID_MAC_KEYS.split(/\s+/);
    for (const key of keys) expect(await enrols(await planted(key))).toMatchObject(ENROLLED);
    expect(await enrols(await planted(`1:${"x".repeat(43)}`))).toEqual(REFUSED);
  });
});

describe("a token without a stamp", () => {
  it("that an earlier version has minted → enrols; the isolate gets the list once a minute at most", async () => {
    const tokens = await Promise.all(Array.from({ length: 3 }, async () => withoutStamp(await mintToken())));
    for (const token of tokens) expect(await enrols(token)).toMatchObject(ENROLLED);
    expect(calls()).toEqual({ admit: 3, tokenIds: 1 });
    shift(MINUTE_MS);
    expect(await enrols(withoutStamp(await mintToken()))).toMatchObject(ENROLLED);
    expect(calls()).toEqual({ admit: 4, tokenIds: 2 });
  });

  it("that is invented → one list a minute for all of them, and no other request to the registry", async () => {
    expect(await enrols(withoutStamp(inventedToken()))).toEqual(REFUSED);
    const crowd = Promise.all(Array.from({ length: 20 }, () => enrols(withoutStamp(inventedToken()))));
    for (const answer of await during(HELD_MS, crowd)) expect(answer).toMatchObject(WAITS);
    expect(calls()).toEqual({ admit: 0, tokenIds: 1 });
    shift(MINUTE_MS - 2 * HELD_MS - 1);
    expect(await waiting(withoutStamp(inventedToken()))).toMatchObject(WAITS);
    // The next list is due within the time for which the Worker holds back an answer.
    const held = Promise.all(Array.from({ length: 20 }, () => enrols(withoutStamp(inventedToken()))));
    for (const answer of await during(HELD_MS, held)) expect(answer).toEqual(REFUSED);
    expect(calls()).toEqual({ admit: 0, tokenIds: 2 });
  });

  it("newer than the list → waits for the next list, then enrols", async () => {
    await enrols(withoutStamp(inventedToken()));
    const token = withoutStamp(await mintToken());
    expect(await waiting(token)).toMatchObject(WAITS);
    shift(MINUTE_MS);
    expect(await enrols(token)).toMatchObject(ENROLLED);
  });

  it("newer than the list → the answer has the seconds until the next list, and the cause", async () => {
    await enrols(withoutStamp(inventedToken()));
    const key = await makeMachineKey();
    const body = await enrolmentBody("invented-raw", { joinToken: withoutStamp(await mintToken()), key });
    const response = await during(HELD_MS, send(enrolmentPath("invented-raw"), { method: "PUT", body }));
    expect(response.headers.get("retry-after")).toBe(String((MINUTE_MS - HELD_MS) / 1000));
    expect((await response.json<Problem>()).detail).toContain("once a minute");
  });

  it("while the registry does not answer → 500, so that the machine tries again; the last list stays", async () => {
    const known = withoutStamp(await mintToken({ uses: 2 }));
    expect(await enrols(known)).toMatchObject(ENROLLED);
    shift(MINUTE_MS);
    vi.spyOn(RegistryObject.prototype, "tokenIds").mockImplementation(() => {
      throw new Error("overloaded");
    });
    const token = withoutStamp(await mintToken());
    expect(await enrols(token)).toMatchObject({ status: 500 });
    expect(await waiting(token)).toMatchObject(WAITS);
    expect(await enrols(known)).toMatchObject(ENROLLED);
    expect(calls().admit).toBe(2);
  });
});
