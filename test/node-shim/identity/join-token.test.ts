// Tests the stamp of a join token: which tokens have one, and which binding contains it.
import { decodeProtectedHeader } from "jose";
import { describe, expect, it } from "vitest";
import { makeMachineKey } from "../../../node-shim/identity/identity.ts";
import { joinTokenKey } from "../../../node-shim/identity/join-token.ts";
import { signEnrolment } from "../../../node-shim/worker-link/sign.ts";
import { inventedToken, withoutStamp } from "../../worker/support/invented-tokens.ts";

const SEED = Buffer.from(Array.from({ length: 32 }, (_, at) => at));
const STAMPED = inventedToken(SEED);
/** Computed with sha256sum and base64 from the first 23 bytes of SEED, and from its last 9 bytes. */
const STAMP = "9qlUpoVVGH2IzZoCaUDRFxgZGhscHR4f";

describe("the stamp of a token", () => {
  it.each<[string, string, string | undefined]>([
    ["with the mark", STAMPED, STAMP],
    ["without the mark, as an earlier Worker has minted it", withoutStamp(STAMPED), undefined],
  ])("%s → %#", async (_, token, stamp) => {
    expect((await joinTokenKey(token)).stamp).toBe(stamp);
    const asking = { name: "edge-1", origin: "https://a.test", path: "/p", challenge: "" };
    const ids = { machineID: "m", systemUUID: "s" };
    const { binding } = await signEnrolment(await makeMachineKey(), token, { ...asking, ...ids });
    const { id } = await joinTokenKey(token);
    const header = { alg: "EdDSA", typ: "rollcall-join+jwt", kid: id };
    expect(decodeProtectedHeader(binding)).toEqual(stamp === undefined ? header : { ...header, stamp });
  });

  it("→ the key and the ID do not depend on the mark", async () => {
    expect((await joinTokenKey(STAMPED)).id).toBe((await joinTokenKey(withoutStamp(STAMPED))).id);
  });
});
