// Tests the next key in the state folder: wherever the shim ends during a rotation, one valid key is in the folder.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  adoptNextKey,
  forgetIdentity,
  loadEnrolment,
  loadNextKey,
  loadOrMakeKey,
  makeNextKey,
  pinnedNextKey,
  storeEnrolment,
  storeNextEnrolment,
} from "../../../../node-shim/identity/identity.ts";
import { temporaryFolder } from "../../base/temporary-folder.ts";

const NAME = "edge-1";
let folder: { path: string; remove: () => void };
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());

/** Makes a machine with a key, and with a next key that the Worker has pinned. */
async function rotating() {
  const state = folder.path;
  const key = await loadOrMakeKey(state);
  storeEnrolment(state, { name: NAME, thumbprint: key.thumbprint, kid: "kid-1" });
  const next = await makeNextKey(state);
  return { state, key, next, enrolment: { name: NAME, thumbprint: next.key.thumbprint, kid: "kid-2" } };
}

describe("a next key", () => {
  it("that does not exist → null", async () => {
    expect([await loadNextKey(folder.path), await pinnedNextKey(folder.path, NAME)]).toEqual([null, null]);
  });

  it("that the Worker has not pinned → cannot become the machine's, and its own key stays", async () => {
    const { state, key, next } = await rotating();
    expect(() => adoptNextKey(state, next)).toThrow("a next key that was not pinned");
    const { thumbprint } = await loadOrMakeKey(state);
    expect([thumbprint, loadEnrolment(state, { name: NAME, thumbprint })?.kid]).toEqual([
      key.thumbprint,
      "kid-1",
    ]);
  });

  it("that the Worker has not pinned → the machine signs with its own; the next one is tried again", async () => {
    const { state, key, next } = await rotating();
    expect(await pinnedNextKey(state, NAME)).toBeNull();
    expect((await loadOrMakeKey(state)).thumbprint).toBe(key.thumbprint);
    expect((await loadNextKey(state))?.key.thumbprint).toBe(next.key.thumbprint);
  });

  it("that is pinned → the machine signs with it, and the former one is still there", async () => {
    const { state, key, next, enrolment } = await rotating();
    storeNextEnrolment(state, next.key, enrolment);
    expect(await pinnedNextKey(state, NAME)).toMatchObject({
      key: { thumbprint: next.key.thumbprint },
      enrolment,
    });
    expect((await loadOrMakeKey(state)).thumbprint).toBe(key.thumbprint);
    expect(await pinnedNextKey(state, "another")).toBeNull();
  });

  it("that has reported → is the machine's, even if the shim ended half-way", async () => {
    const { state, next, enrolment } = await rotating();
    storeNextEnrolment(state, next.key, enrolment);
    const halfWay = readFileSync(join(state, "next.json"), "utf8");
    const pinned = await pinnedNextKey(state, NAME);
    if (!pinned) throw new Error("not pinned");
    adoptNextKey(state, pinned);
    const { thumbprint } = await loadOrMakeKey(state);
    expect(thumbprint).toBe(next.key.thumbprint);
    expect(loadEnrolment(state, { name: NAME, thumbprint })).toEqual(enrolment);
    expect(existsSync(join(state, "next.json"))).toBe(false);
    writeFileSync(join(state, "next.json"), halfWay);
    expect((await pinnedNextKey(state, NAME))?.key.thumbprint).toBe(thumbprint);
  });

  it("that is damaged → a line that says what to do", async () => {
    const { state } = await rotating();
    writeFileSync(join(state, "next.json"), '{"jwk":{}}');
    await expect(loadNextKey(state)).rejects.toMatchObject({
      message: expect.stringMatching(/next\.json is damaged: remove it/) as string,
      cause: expect.any(Error) as Error,
    });
  });

  it("of a machine that leaves → is removed with it", async () => {
    const { state } = await rotating();
    forgetIdentity(state, "edge-1");
    expect(await loadNextKey(state)).toBeNull();
  });
});
