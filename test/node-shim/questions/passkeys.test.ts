// Tests which passkeys may ask a machine: only pinned ones, on the page of their origin, whose user was checked.
// test/page/passkey.test.ts has a browser's own proofs.
import { createHash, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { describe, expect, it } from "vitest";
import { QuestionProofs, signerOfProof } from "../../../node-shim/questions/proofs.ts";
import {
  type OperatorKey,
  operatorKeyLine,
  parseOperatorKeys,
  passkeyProof,
  proofText,
} from "../../../shared/protocol/question-proof.ts";
import { failure, success } from "../../../shared/result.ts";

const ORIGIN = "https://rollcall.example.com";
const sha256 = (data: string | Buffer) => createHash("sha256").update(data).digest();
const base64url = (data: string | Buffer) => Buffer.from(data).toString("base64url");

/** Returns the public key of a passkey as a machine pins it. */
function pinnedOf(key: KeyObject, origin = ORIGIN): OperatorKey {
  const { x = "", y = "" } = key.export({ format: "jwk" });
  const point = Buffer.concat([Buffer.of(4), Buffer.from(x, "base64url"), Buffer.from(y, "base64url")]);
  return { key: base64url(point), origin, comment: "alice at work" };
}
const [alice, mallory] = [1, 2].map(() => generateKeyPairSync("ec", { namedCurve: "P-256" }));
const ALICE = pinnedOf(alice!.publicKey);
const ASKED = { machine: "edge-1", question: { name: "disks", parameters: {} } };
const CHALLENGE = "A".repeat(22);

interface Assertion {
  by?: KeyObject;
  client?: object;
  rpId?: string;
  flags?: number;
  /** Bytes after the counter: extensions. */
  more?: Buffer;
  machine?: string;
}

/** Returns the proof that a browser makes. */
function assertion({
  by = alice!.privateKey,
  client = {},
  rpId = "rollcall.example.com",
  flags = 0x05,
  more = Buffer.alloc(0),
  machine = "edge-1",
}: Assertion = {}): string {
  const challenge = base64url(sha256(proofText({ ...ASKED, machine, challenge: CHALLENGE })));
  const clientData = Buffer.from(
    JSON.stringify({ type: "webauthn.get", challenge, origin: ORIGIN, crossOrigin: false, ...client }),
  );
  const data = Buffer.concat([sha256(rpId), Buffer.of(flags, 0, 0, 0, 7), more]);
  return passkeyProof({
    challenge: CHALLENGE,
    authenticatorData: base64url(data),
    clientData: base64url(clientData),
    signature: base64url(sign("sha256", Buffer.concat([data, sha256(clientData)]), by)),
  });
}

const prove = (
  proof: string,
  keys: OperatorKey[] = [pinnedOf(mallory!.publicKey, "https://other.example"), ALICE],
) => signerOfProof(proof, ASKED, success(keys));

describe("a question that a passkey has signed", () => {
  it.each<[situation: string, made: Assertion]>([
    ["of this page", {}],
    ["with extensions of the authenticator", { flags: 0x85, more: Buffer.from("a0", "hex") }],
    ["that a password manager has in several places", { flags: 0x1d }],
  ])("%s → answered", async (_, made) => {
    expect(await prove(assertion(made))).toEqual(success(ALICE));
  });

  it.each<[situation: string, made: Assertion, fault: string]>([
    ["that is not pinned", { by: mallory!.privateKey }, "has not pinned this passkey"],
    ["on another page", { client: { origin: "https://evil.example" } }, "no passkey of this page"],
    ["in a frame of another page", { client: { crossOrigin: true } }, "no passkey of this page"],
    ["of another host", { rpId: "example.com" }, "of another host than its page"],
    ["without a touch", { flags: 0x04 }, "has not checked its user"],
    ["without a check of its user", { flags: 0x01 }, "has not checked its user"],
    ["for another machine", { machine: "edge-2" }, "has not signed this question of this machine"],
    ["at its creation", { client: { type: "webauthn.create" } }, "has not signed this question"],
    ["with a challenge of another page", { client: { challenge: "AAAA" } }, "has not signed this question"],
  ])("%s → refused", async (_, made, fault) => {
    expect(await prove(assertion(made))).toEqual(failure(expect.stringContaining(fault)));
  });

  it.each([
    ["no passkey", []],
    ["this passkey for another page", [{ ...ALICE, origin: "https://other.example" }]],
  ])("to a machine that pins %s → refused", async (_, keys) => {
    expect(await prove(assertion(), keys)).toEqual(
      failure(expect.stringContaining("no passkey of this page")),
    );
  });

  it.each([
    ["client data that is no JSON", (proof: string) => proof.replace(/\.[\w-]+\.([\w-]+)$/, ".AAAA.$1")],
    ["a changed signature", (proof: string) => `${proof.slice(0, -8)}AAAAAAAA`],
    ["authenticator data that is cut", (proof: string) => proof.replace(/(\.A{22}\.[\w-]{8})[\w-]+/, "$1")],
  ])("%s → refused", async (_, change) => {
    expect((await prove(change(assertion()))).ok).toBe(false);
  });

  it("a point that is none, pinned → refused", async () => {
    const keys = [{ ...ALICE, key: `B${"A".repeat(86)}` }];
    expect(await prove(assertion(), keys)).toEqual(failure(expect.stringContaining("not pinned")));
  });

  it("counts for one try of its challenge", async () => {
    const { machine, question } = ASKED;
    const proofs = new QuestionProofs({
      machine,
      keys: () => success([ALICE]),
      nowMs: () => 0,
      challenge: () => CHALLENGE,
    });
    await proofs.prove({ question });
    const proof = assertion();
    expect(await proofs.prove({ question, proof })).toEqual(
      success({ by: ALICE, proved: { ...ASKED, challenge: CHALLENGE } }),
    );
    expect((await proofs.prove({ question, proof })).ok).toBe(false);
  });
});

describe("the line of a passkey", () => {
  it.each([
    ["https://rollcall.example.com"],
    ["https://rollcall.example.com:8443"],
    ["http://localhost:8787"],
  ])("of %s → itself", (origin) => {
    const key = { ...ALICE, origin };
    expect(parseOperatorKeys(operatorKeyLine(key))).toEqual(success([key]));
  });

  it.each([
    ["without an origin", operatorKeyLine({ ...ALICE, comment: "" }).replace(ORIGIN, "")],
    ["with a page without TLS", operatorKeyLine({ ...ALICE, origin: "http://rollcall.example.com" })],
    ["with a path", operatorKeyLine({ ...ALICE, origin: `${ORIGIN}/x` })],
    ["with a compressed point", operatorKeyLine({ ...ALICE, key: ALICE.key.slice(0, 44) })],
  ])("%s → refused", (_, line) => {
    expect(parseOperatorKeys(line)).toEqual(failure(expect.stringContaining("line 1 is no key")));
  });
});
