// Checks that an operator's key, which the machine's owner has pinned, asks a question. The machine's clock may be wrong,
// so that a proof is fresh by a challenge of this machine, and not by a time.
import { base64url } from "jose";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { shownText } from "../../shared/protocol/printable.ts";
import { PROOF_LIMITS } from "../../shared/protocol/limits.ts";
import {
  type OperatorKey,
  parseOperatorKeys,
  parseQuestionProof,
  proofText,
  type ProvedQuestion,
} from "../../shared/protocol/question-proof.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { faultOf } from "../base/fault.ts";
import { withTrustedFile } from "../base/ownership.ts";

/** Why a question is refused. `challenge`: the text over which a proof is missing. */
export interface Unproved {
  fault: string;
  challenge?: string;
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

const newChallenge = () => randomBytes(16).toString("base64url");

export class QuestionProofs {
  readonly #in: Required<Surroundings>;
  /** The unused challenges with the end of their time, oldest first. */
  readonly #challenges = new Map<string, number>();

  constructor(surroundings: Surroundings) {
    this.#in = { challenge: newChallenge, ...surroundings };
  }

  /** Returns the pinned key that asks. A challenge counts for one try, whatever its result. */
  async prove({
    question,
    proof,
  }: {
    question: ProvedQuestion["question"];
    proof?: string;
  }): Promise<Result<OperatorKey, Unproved>> {
    const keys = this.#in.keys();
    if (!keys.ok) return failure({ fault: shownText(`this machine's keys cannot be used: ${keys.error}`) });
    if (proof === undefined)
      return this.#challenged(
        "this machine answers only an operator whose key its owner has pinned: pass it by --key",
      );
    const parsed = parseQuestionProof(proof);
    if (!parsed) return failure({ fault: "this is no proof of an operator's key" });
    const { challenge, signature } = parsed;
    if (!this.#use(challenge))
      return this.#challenged("the proof's challenge is unknown to this machine, used, or too old");
    const pinned = keys.value.find(({ key }) => key === parsed.key);
    if (!pinned) return failure({ fault: "the owner of this machine has not pinned this key" });
    const text = proofText({ machine: this.#in.machine, challenge, question });
    if (!(await isSignedBy(pinned.key, signature, text)))
      return failure({ fault: "the signature is not of this key, this machine and this question" });
    return success(pinned);
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

/** Reads the pinned keys. Refuses a file that other users than root and the shim's own can change. */
export function pinnedKeys(path: string): Result<OperatorKey[]> {
  try {
    const text = withTrustedFile(path, (descriptor, { size }) =>
      size > PROOF_LIMITS.fileBytes ? null : readFileSync(descriptor, "utf8"),
    );
    if (!text.ok) return text;
    if (text.value === null) return failure(`${path} has more than ${PROOF_LIMITS.fileBytes} bytes`);
    const keys = parseOperatorKeys(text.value);
    return keys.ok ? keys : failure(`${path}: ${keys.error}`);
  } catch (error) {
    return failure(`${path} cannot be read (${faultOf(error)})`);
  }
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
