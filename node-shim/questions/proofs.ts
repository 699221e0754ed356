// Checks that an operator's key, which the machine's owner has pinned, asks a question. The machine's clock may be wrong,
// so that a proof is fresh by a challenge of this machine, and not by a time.
import { base64url } from "jose";
import { randomBytes } from "node:crypto";
import { shownText } from "../../shared/protocol/printable.ts";
import { PROOF_LIMITS } from "../../shared/protocol/limits.ts";
import {
  type OperatorKey,
  parseQuestionProof,
  type PasskeyProof,
  proofText,
  type ProvedQuestion,
  type QuestionProof,
} from "../../shared/protocol/question-proof.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { passkeyOf } from "./passkeys.ts";

/** Why a question is refused. `challenge`: the text over which a proof is missing. */
export interface Unproved {
  fault: string;
  challenge?: string;
}

/** A question that a pinned key has signed. */
export interface Proved {
  by: OperatorKey;
  proved: ProvedQuestion;
}

interface Surroundings {
  /** This machine's name. */
  machine: string;
  /** Returns the pinned keys, or why there are none. Typically pinnedKeys of the file of --questions-from. */
  keys: () => Result<OperatorKey[]>;
  /** Milliseconds on a clock that never goes back, typically systemClock.nowMs. */
  nowMs: () => number;
  /** Returns 128 random bits in base64url, typically newChallenge. */
  challenge?: () => string;
}

/** A question to this machine. The proof has the rest of what its key has signed. */
type Asked = Pick<ProvedQuestion, "machine" | "question">;

const newChallenge = () => randomBytes(16).toString("base64url");

export class QuestionProofs {
  readonly #in: Required<Surroundings>;
  /** The unused challenges with the end of their time, oldest first. */
  readonly #challenges = new Map<string, number>();

  constructor(surroundings: Surroundings) {
    this.#in = { challenge: newChallenge, ...surroundings };
  }

  /** Returns who asks, with the pinned key that has signed. A challenge counts for one try, whatever its result. */
  async prove({
    question,
    proof,
  }: {
    question: ProvedQuestion["question"];
    proof?: string;
  }): Promise<Result<Proved, Unproved>> {
    const keys = this.#in.keys();
    if (!keys.ok) return failure({ fault: shownText(`this machine's keys cannot be used: ${keys.error}`) });
    if (proof === undefined)
      return this.#challenged(
        "this machine answers only an operator whose key its owner has pinned: pass it by --key",
      );
    const parsed = parseQuestionProof(proof);
    if (!parsed) return failure({ fault: "this is no proof of an operator's key" });
    if (!this.#use(parsed.challenge))
      return this.#challenged("the proof's challenge is unknown to this machine, used, or too old");
    const asked = { machine: this.#in.machine, question };
    const signer = await signerOf(parsed, asked, keys.value);
    if (!signer.ok) return failure({ fault: signer.error });
    return success({ by: signer.value, proved: provedBy(parsed, asked) });
  }

  /** Refuses a question with a new challenge. Of too many challenges, the oldest ones end. */
  #challenged(fault: string): Result<never, Unproved> {
    const challenge = this.#in.challenge();
    this.#forgetOld();
    const most = PROOF_LIMITS.challenges - 1;
    for (const oldest of [...this.#challenges.keys()].slice(0, Math.max(0, this.#challenges.size - most)))
      this.#challenges.delete(oldest);
    this.#challenges.set(challenge, this.#in.nowMs() + 1000 * PROOF_LIMITS.challengeSeconds);
    return failure({ fault, challenge });
  }

  #use(challenge: string): boolean {
    this.#forgetOld();
    return this.#challenges.delete(challenge);
  }

  #forgetOld(): void {
    const nowMs = this.#in.nowMs();
    for (const [challenge, endMs] of this.#challenges) if (endMs <= nowMs) this.#challenges.delete(challenge);
  }
}

/**
 * Returns the pinned key that has signed the question, whose challenge may be any. For the unit that answers: the challenges
 * are in the shim's memory.
 */
export async function signerOfProof(
  proof: unknown,
  asked: Asked,
  keys: Result<OperatorKey[]>, // of pinnedKeys
): Promise<Result<OperatorKey>> {
  if (!keys.ok) return failure(shownText(`this machine's keys cannot be used: ${keys.error}`));
  const parsed = typeof proof === "string" ? parseQuestionProof(proof) : null;
  return parsed ? signerOf(parsed, asked, keys.value) : failure("the shim has passed on no proof");
}

/** Returns what the key of a proof must have signed. */
function provedBy(proof: QuestionProof | PasskeyProof, asked: Asked): ProvedQuestion {
  const sealTo = "sealTo" in proof ? proof.sealTo : undefined;
  return { ...asked, challenge: proof.challenge, ...(sealTo !== undefined && { sealTo }) };
}

async function signerOf(
  proof: QuestionProof | PasskeyProof,
  asked: Asked,
  keys: readonly OperatorKey[],
): Promise<Result<OperatorKey>> {
  const text = proofText(provedBy(proof, asked));
  if ("clientData" in proof) return passkeyOf(proof, text, keys);
  const { key, signature } = proof;
  const pinned = keys.find((each) => each.key === key);
  if (!pinned) return failure("the owner of this machine has not pinned this key");
  return (await isSignedBy(key, signature, text))
    ? success(pinned)
    : failure("the signature is not of this key, this machine and this question");
}

/** Reports whether the signature is of this key and text. A key or signature of another form has signed nothing. */
async function isSignedBy(key: string, signature: string, text: string): Promise<boolean> {
  try {
    const publicKey = await crypto.subtle.importKey("raw", base64url.decode(key), "Ed25519", false, [
      "verify",
    ]);
    const bytes = new TextEncoder().encode(text);
    return await crypto.subtle.verify("Ed25519", publicKey, base64url.decode(signature), bytes);
  } catch {
    return false;
  }
}
