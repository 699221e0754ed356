// Tests which questions a machine with pinned keys answers: only those that a pinned key has signed for this machine, for
// this question and for a fresh challenge.
import { chmodSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { proofBy, publicLine, type QuestionKey } from "../../../infra/operator/question-key.ts";
import { makeMachineKey } from "../../../node-shim/identity/identity.ts";
import { pinnedKeys } from "../../../node-shim/machine/pinned-keys.ts";
import { QuestionProofs, signerOfProof } from "../../../node-shim/questions/proofs.ts";
import { PROOF_LIMITS } from "../../../shared/protocol/limits.ts";
import { type OperatorKey, parseOperatorKeys } from "../../../shared/protocol/question-proof.ts";
import { failure, type Result, success } from "../../../shared/result.ts";

const [alice, mallory]: QuestionKey[] = [
  { key: await makeMachineKey(), comment: "alice" },
  { key: await makeMachineKey(), comment: "mallory" },
];
const LOGS = { name: "logs", parameters: { unit: "nginx", since: "1h" } };
const MS = 1000 * PROOF_LIMITS.challengeSeconds;

let nowMs = 0;
let keys: Result<OperatorKey[]>;
beforeEach(() => {
  nowMs = 1_000_000;
  keys = parseOperatorKeys(publicLine(alice!));
});

const proofsOf = (machine: string) => new QuestionProofs({ machine, keys: () => keys, nowMs: () => nowMs });

/** Asks without a proof, and returns the machine's challenge. */
async function challengeOf(proofs: QuestionProofs): Promise<string> {
  const refused = await proofs.prove({ question: LOGS });
  const challenge = refused.ok ? undefined : refused.error.challenge;
  return challenge ?? expect.fail("no challenge");
}

const BY_ALICE = { key: alice!.key.publicJwk.x, comment: "alice" };
const ALICE = success(expect.objectContaining({ by: BY_ALICE }));
const refusal = (fault: string) =>
  failure(expect.objectContaining({ fault: expect.stringContaining(fault) as string }));

describe("a machine with pinned keys", () => {
  it("a question without a proof → refused with a challenge, and answered with a proof of it", async () => {
    const proofs = proofsOf("edge-1");
    const challenge = await challengeOf(proofs);
    const proof = await proofBy(alice!, { machine: "edge-1", challenge, question: LOGS });
    expect(proof.length).toBeLessThanOrEqual(2048);
    expect(await proofs.prove({ question: LOGS, proof })).toEqual(ALICE);
  });

  const [SEAL_TO, OTHER] = ["S".repeat(43), "T".repeat(43)];
  it.each<[situation: string, change: (proof: string) => string, expected: (challenge: string) => unknown]>([
    [
      "→ a part of what is proved",
      (proof) => proof,
      (challenge) =>
        success({
          by: BY_ALICE,
          proved: { machine: "edge-1", challenge, question: LOGS, sealTo: SEAL_TO },
        }),
    ],
    [
      "that the Worker replaces → refused",
      (proof) => proof.replace(SEAL_TO, OTHER),
      () => refusal("not of this key"),
    ],
    [
      "that the Worker leaves out → refused",
      (proof) => proof.replace(`.${SEAL_TO}`, ""),
      () => refusal("not of this key"),
    ],
  ])("a key to which the answer must be sealed %s", async (_, change, expected) => {
    const proofs = proofsOf("edge-1");
    const challenge = await challengeOf(proofs);
    const signed = { machine: "edge-1", challenge, question: LOGS, sealTo: SEAL_TO };
    const proof = change(await proofBy(alice!, signed));
    expect(await proofs.prove({ question: LOGS, proof })).toEqual(expected(challenge));
  });

  it("the same proof again → refused with a new challenge", async () => {
    const proofs = proofsOf("edge-1");
    const challenge = await challengeOf(proofs);
    const proof = await proofBy(alice!, { machine: "edge-1", challenge, question: LOGS });
    await proofs.prove({ question: LOGS, proof });
    const again = await proofs.prove({ question: LOGS, proof });
    expect(again).toEqual(refusal("used"));
    expect(again).toMatchObject({ error: { challenge: expect.not.stringMatching(challenge) as string } });
  });

  it("the order of the parameters → does not count", async () => {
    const proofs = proofsOf("edge-1");
    const question = { name: "logs", parameters: { since: "1h", unit: "nginx" } };
    const proof = await proofBy(alice!, {
      machine: "edge-1",
      challenge: await challengeOf(proofs),
      question,
    });
    expect(await proofs.prove({ question: LOGS, proof })).toEqual(ALICE);
  });

  it.each<[situation: string, by: QuestionKey, signed: object, fault: string]>([
    ["for another machine", alice!, { machine: "edge-2" }, "not of this key, this machine and this question"],
    ["of another question", alice!, { question: { ...LOGS, name: "files" } }, "not of this key"],
    [
      "of another parameter",
      alice!,
      { question: { name: "logs", parameters: { ...LOGS.parameters, unit: "ssh" } } },
      "not of this key",
    ],
    [
      "without a parameter",
      alice!,
      { question: { name: "logs", parameters: { unit: "nginx" } } },
      "not of this key",
    ],
    ["by a key that is not pinned", mallory!, {}, "has not pinned this key"],
    ["with a challenge that nobody gave", alice!, { challenge: "A".repeat(22) }, "unknown to this machine"],
  ])("a proof %s → refused", async (_, by, signed, fault) => {
    const proofs = proofsOf("edge-1");
    const right = { machine: "edge-1", challenge: await challengeOf(proofs), question: LOGS };
    const proof = await proofBy(by, { ...right, ...signed });
    expect(await proofs.prove({ question: LOGS, proof })).toEqual(refusal(fault));
  });

  it("a signature of another key under the name of a pinned one → refused, and the challenge is used up", async () => {
    const proofs = proofsOf("edge-1");
    const asked = { machine: "edge-1", challenge: await challengeOf(proofs), question: LOGS };
    const [own, other] = [await proofBy(alice!, asked), await proofBy(mallory!, asked)];
    const signature = other.split(".")[2]!;
    const resigned = [...own.split(".").slice(0, 2), signature].join(".");
    expect(await proofs.prove({ question: LOGS, proof: resigned })).toEqual(refusal("not of this key"));
    expect(await proofs.prove({ question: LOGS, proof: own })).toEqual(refusal("used"));
  });

  it("the challenge of another machine, passed on by a hostile Worker → refused by both", async () => {
    const [first, second] = [proofsOf("edge-1"), proofsOf("edge-2")];
    const challenge = await challengeOf(second);
    const proof = await proofBy(alice!, { machine: "edge-1", challenge, question: LOGS });
    expect(await first.prove({ question: LOGS, proof })).toEqual(refusal("unknown to this machine"));
    expect(await second.prove({ question: LOGS, proof })).toEqual(refusal("not of this key"));
  });

  it.each([
    ["just before its end → answered", MS - 1, ALICE],
    ["at its end → refused", MS, refusal("too old")],
  ])("a challenge %s", async (_, laterMs, expected) => {
    const proofs = proofsOf("edge-1");
    const asked = { machine: "edge-1", challenge: await challengeOf(proofs), question: LOGS };
    nowMs += laterMs;
    expect(await proofs.prove({ question: LOGS, proof: await proofBy(alice!, asked) })).toEqual(expected);
  });

  it.each([
    ["as many as there may be → the first one counts", PROOF_LIMITS.challenges - 1, ALICE],
    ["one more → the first one has ended", PROOF_LIMITS.challenges, refusal("unknown")],
  ])("unused challenges, %s", async (_, later, expected) => {
    const proofs = proofsOf("edge-1");
    const challenge = await challengeOf(proofs);
    for (let count = 0; count < later; count++) await challengeOf(proofs);
    const proof = await proofBy(alice!, { machine: "edge-1", challenge, question: LOGS });
    expect(await proofs.prove({ question: LOGS, proof })).toEqual(expected);
  });

  it.each(["", "x", ".".repeat(3), `${"A".repeat(43)}.${"A".repeat(22)}`, "A".repeat(2048)])(
    "a text that is no proof, %j → refused without a challenge",
    async (proof) => {
      const refused = await proofsOf("edge-1").prove({ question: LOGS, proof });
      expect(refused).toEqual(failure({ fault: "this is no proof of an operator's key" }));
    },
  );

  it("a key that its owner has removed → refused at once", async () => {
    const proofs = proofsOf("edge-1");
    const asked = { machine: "edge-1", challenge: await challengeOf(proofs), question: LOGS };
    keys = parseOperatorKeys(publicLine(mallory!));
    const proof = await proofBy(alice!, asked);
    expect(await proofs.prove({ question: LOGS, proof })).toEqual(refusal("has not pinned this key"));
  });

  it("keys that cannot be read → refused without a challenge", async () => {
    keys = failure("/etc/keys is missing");
    expect(await proofsOf("edge-1").prove({ question: LOGS })).toEqual(
      failure({ fault: "this machine's keys cannot be used: /etc/keys is missing" }),
    );
  });
});

describe("the unit that answers", () => {
  const asked = { machine: "edge-1", question: LOGS };
  const signed = (by: QuestionKey, more: object = {}) =>
    proofBy(by, { ...asked, challenge: "A".repeat(22), ...more });

  it("a proof of a challenge that the shim gave, or of another → its key: only the shim knows the challenges", async () => {
    expect(await signerOfProof(await signed(alice!), asked, keys)).toEqual(success(BY_ALICE));
  });

  it.each<[situation: string, proof: () => unknown, fault: string]>([
    ["no proof", () => undefined, "no proof"],
    ["a text that is none", () => "x", "no proof"],
    ["a key that is not pinned", () => signed(mallory!), "has not pinned this key"],
    ["another machine's", () => signed(alice!, { machine: "edge-2" }), "not of this key"],
    ["another question's", () => signed(alice!, { question: { ...LOGS, name: "files" } }), "not of this key"],
  ])("%s → refused", async (_, proof, fault) => {
    expect(await signerOfProof(await proof(), asked, keys)).toEqual(failure(expect.stringContaining(fault)));
  });

  it("keys that cannot be read → refused", async () => {
    expect(await signerOfProof(await signed(alice!), asked, failure("gone"))).toEqual(
      failure("this machine's keys cannot be used: gone"),
    );
  });
});

describe("a file of pinned keys", () => {
  const LINE = publicLine(alice!);
  const folder = mkdtempSync(join(tmpdir(), "rollcall-keys-"));
  let files = 0;
  const fileOf = (text: string, mode = 0o644) => {
    const path = join(folder, `keys-${++files}`);
    writeFileSync(path, text);
    chmodSync(path, mode);
    return path;
  };

  it.each([
    ["a key", LINE, ["alice"]],
    ["without a comment", LINE.replace(" alice", ""), [""]],
    ["comments, empty lines, line ends of Windows", `# us\r\n\r\n  ${LINE} at home\r\n`, ["alice at home"]],
    ["two keys", `${LINE}\n${publicLine(mallory!)}`, ["alice", "mallory"]],
    [
      "as many keys as there may be",
      `${LINE}\n`.repeat(PROOF_LIMITS.keys),
      Array(PROOF_LIMITS.keys).fill("alice"),
    ],
  ])("%s → its keys", (_, text, comments) => {
    const read = pinnedKeys(fileOf(text));
    expect(read.ok && read.value.map(({ comment }) => comment)).toEqual(comments);
  });

  it.each([
    ["without a key", "# nobody\n", "no key"],
    ["with another line", `${LINE}\nssh-ed25519 AAAA`, "line 2 is no key"],
    ["with a key that is too short", LINE.slice(0, 40), "line 1 is no key"],
    ["with a control character", `${LINE}\u001b[2J`, "line 1 is no key"],
    ["with too many keys", `${LINE}\n`.repeat(PROOF_LIMITS.keys + 1), "more than 64 keys"],
    ["that is too large", "#".repeat(PROOF_LIMITS.fileBytes + 1), "bytes"],
  ])("%s → refused", (_, text, fault) => {
    expect(pinnedKeys(fileOf(text))).toEqual(failure(expect.stringContaining(fault)));
  });

  it.each([
    ["that others may write", () => fileOf(LINE, 0o666), "can be written by others"],
    ["that is missing", () => join(folder, "missing"), "ENOENT"],
  ])("%s → refused", (_, path, fault) => {
    expect(pinnedKeys(path())).toEqual(failure(expect.stringContaining(fault)));
  });
});
