// Answers questions that come from the Worker, as the machine's owner has allowed it, and logs each of them. Loads what
// answers only when a question comes.
import { type TokenBucket, tryAccept } from "../../shared/events/token-bucket.ts";
import { ASKING_LIMITS, QUESTION_LIMITS } from "../../shared/protocol/limits.ts";
import type { AskedQuestion } from "../../shared/protocol/asking.ts";
import type { ProvedQuestion } from "../../shared/protocol/question-proof.ts";
import { shownText } from "../../shared/protocol/printable.ts";
import { type AnswerEnd, answerEndText } from "../../shared/protocol/questions.ts";
import { type Result, success } from "../../shared/result.ts";
import { systemClock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { MachineKey } from "../identity/identity.ts";
import { pinnedKeys } from "../machine/pinned-keys.ts";
import type { MachineSettings } from "../machine/settings.ts";
import type { Answerer, machineAnswerer } from "../questions/answerer.ts";
import type { QuestionProofs } from "../questions/proofs.ts";
import type { QuestionAnswering } from "../worker-link/questions.ts";

/** The refusal of an operator. `challenge`: the text over which a proof is missing. */
export interface AskerRefused {
  fault: string;
  challenge?: string;
}

type AskerSettings = Pick<MachineSettings, "name" | "questionsFrom">;

interface Asked {
  settings: MachineSettings;
  flags: Parameters<typeof machineAnswerer>[1];
  log: Log;
  /**
   * Returns what the operator's key has signed, null if the machine pins no keys, or why this operator may not ask. Called
   * before anything is read or loaded.
   */
  mayAsk: (asked: AskedQuestion) => Promise<Result<ProvedQuestion | null, AskerRefused>>;
  /** The machine's key, which signs sealed answers. */
  key: MachineKey;
  nowMs: () => number; // typically systemClock.nowMs
}

export function questionAnswering({ settings, flags, log, mayAsk, key, nowMs }: Asked): QuestionAnswering {
  let bucket: TokenBucket | undefined;
  const isInRate = () => {
    const { aMinute } = QUESTION_LIMITS;
    const rest = tryAccept(bucket, nowMs() * 1000, aMinute, aMinute / 60);
    if (rest !== null) bucket = rest;
    return rest !== null;
  };
  /** Counts the questions, so that there is one. */
  let answerer: Promise<Answerer> | undefined;
  async function* allowed({ question, proof }: AskedQuestion, signal: AbortSignal): Answer {
    answerer ??= import("../questions/answerer.ts").then(({ machineAnswerer }) =>
      machineAnswerer(settings, flags),
    );
    return yield* (await answerer)(question, signal, proof);
  }
  async function* answer(asked: AskedQuestion, signal: AbortSignal): Answer {
    // The log has a question before anything else happens.
    log("info", `question of ${shownText(asked.asker)}: ${questionText(asked)}`);
    const asker = await mayAsk(asked);
    if (!asker.ok) return yield* logged(asked, refused(asker.error), log);
    const plain = logged(asked, allowed(asked, signal), log);
    if (asker.value?.sealTo === undefined) return yield* plain;
    const [{ sealed }, { proofText }] = await Promise.all([
      import("../wire/sealed-answer.ts"),
      import("../../shared/protocol/question-proof.ts"),
    ]);
    return yield* sealed(plain, { sealTo: asker.value.sealTo, proved: proofText(asker.value), key });
  }
  return { on: settings.questions, isInRate, answer };
}

type Answer = AsyncGenerator<Uint8Array, AnswerEnd>;

// oxlint-disable-next-line require-yield -- A refusal has no part.
async function* refused(refusal: AskerRefused): Answer {
  return { reason: "refused", ...refusal };
}

/** Returns the check of who asks: with --questions-from only operators whose keys are in that file. */
export function askerCheck({ name, questionsFrom }: AskerSettings, log: Log): Asked["mayAsk"] {
  if (questionsFrom === null) return () => Promise.resolve(success(null));
  let proofs: Promise<QuestionProofs> | undefined;
  return async (asked) => {
    proofs ??= import("../questions/proofs.ts").then(
      ({ QuestionProofs }) =>
        new QuestionProofs({
          machine: name,
          keys: () => pinnedKeys(questionsFrom),
          nowMs: systemClock.nowMs,
        }),
    );
    const proved = await (await proofs).prove(asked);
    if (!proved.ok) return proved;
    const { key, comment } = proved.value.by;
    // The line begins with the proof: the Worker chooses the asker and the name of a question, and could feign an end.
    log("info", `proved by the key ${shownText(`${key} ${comment}`)}: question of ${shownText(asked.asker)}`);
    return success(proved.value.proved);
  };
}

/** Logs how an answer has ended. */
async function* logged(asked: AskedQuestion, chunks: Answer, log: Log): Answer {
  const text = questionText(asked);
  const asker = shownText(asked.asker);
  let bytes = 0;
  let end: AnswerEnd | null = null;
  try {
    for (;;) {
      const next = await chunks.next();
      if (next.done) return (end = next.value);
      bytes += next.value.length;
      yield next.value;
    }
  } finally {
    void chunks.return({ reason: "complete" }).catch(() => undefined);
    const how = end === null ? "not wanted any more" : shownText(answerEndText(end) ?? "complete");
    log("info", `answer to ${asker}: ${text}: ${bytes} bytes, ${how}`);
  }
}

/** Returns the question as an operator writes it. */
function questionText({ question: { name, parameters } }: AskedQuestion): string {
  const pairs = Object.entries(parameters).map(([key, value]) => ` ${key}=${value}`);
  return shownText(`${name}${pairs.join("")}`, ASKING_LIMITS.loggedLength);
}
