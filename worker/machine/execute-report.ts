// Executes the step that decideReport has returned: stores the report, runs a tick, and answers the machine.
import type { DuplicatePhase } from "../../shared/node/duplicate-senders.ts";
import { isBehind } from "../../shared/fleet/sort-keys.ts";
import type { Report } from "../../shared/protocol/report.ts";
import type { ReportAnswer } from "../../shared/protocol/answers.ts";
import { reportIntervalMs } from "../../shared/protocol/settings.ts";
import { failure, success } from "../../shared/result.ts";
import { VERSION } from "../../shared/version.ts";
import type { TickOutcome } from "../tick/tick.ts";
import { lastPhase, recordPhase } from "../tick/phase.ts";
import { KEY_REVOKED, type MachineAnswer, UNAUTHENTICATED } from "./answers.ts";
import { dueClearings } from "./clearing.ts";
import { recordContact, recordOutage, recordReturn, recordSetupFailure, runningOf } from "./contact.ts";
import type { ReportStep } from "./decide-report.ts";
import { duplicateNotice } from "./duplicate-senders.ts";
import { type FreshRequests, RATE_LIMITED } from "./fresh-requests.ts";
import type { IndexUpdates } from "./index-updates.ts";
import type { MachineState } from "./machine-state.ts";
import type { ReportedFacts } from "./parse-body.ts";
import type { RegistryStatus } from "./registry-status.ts";
import { nextReportInMs } from "./report-interval.ts";
import type { Ruling } from "./ruling.ts";
import type { Upkeep } from "./upkeep.ts";
import { currentMs } from "../clock.ts";

/** A report whose signature, body and grant are verified. */
interface VerifiedReport {
  report: Report;
  facts: ReportedFacts;
  /** A text about the vitals that were limited; undefined if none was. */
  vitalsCut: string | undefined;
  /** The configured origin that the report was signed for. */
  origin: string;
  /** The network address that the report came from. */
  address: string;
}

/** The shortest time, in milliseconds, after which a waiting process is asked to report again. */
const LEAST_WAIT_MS = 1000;
const WAITING =
  "Another process of the shim has just reported: these facts count once it is certain that it is gone.";

type Challenge = Extract<ReportStep, { kind: "challenge" }>;

export class ReportExecutor {
  readonly #state: MachineState;
  readonly #requests: FreshRequests;
  readonly #registry: RegistryStatus;
  readonly #upkeep: Upkeep;
  readonly #index: Pick<IndexUpdates, "update">;
  readonly #ruling: Pick<Ruling, "isDue" | "keepUp">;

  constructor(
    state: MachineState,
    requests: FreshRequests,
    registry: RegistryStatus,
    upkeep: Upkeep,
    index: Pick<IndexUpdates, "update">,
    ruling: Pick<Ruling, "isDue" | "keepUp">,
  ) {
    this.#state = state;
    this.#requests = requests;
    this.#registry = registry;
    this.#upkeep = upkeep;
    this.#index = index;
    this.#ruling = ruling;
  }

  /** Executes a step; returns the answer. Takes effect before the first await: of two equal requests, one applies. */
  execute(step: ReportStep, verified: VerifiedReport): Promise<MachineAnswer> {
    const nowMs = currentMs();
    if ("senders" in step) this.#state.senders.update(step.senders, nowMs);
    switch (step.kind) {
      case "refuse":
        return Promise.resolve(step.reason === "rate-limited" ? RATE_LIMITED : UNAUTHENTICATED);
      case "answer again":
        return step.answer;
      case "challenge":
        return Promise.resolve(this.#challenge(step));
      case "suspend":
        return this.#suspend(step.phase);
      case "wait":
        return this.#wait(step.untilMs);
      case "record setup failure":
        return this.#setupFailed(step.setupError);
      case "apply":
        return this.#apply(verified);
      default:
        return step satisfies never;
    }
  }

  #challenge({ reason, isLate, factsWanted }: Challenge): MachineAnswer {
    return failure({ reason, ticket: this.#requests.offerTicket(isLate), factsWanted });
  }

  /** Stores the report in one transaction and runs a tick. Before the transaction, awaits only the key's confirmation. */
  async #apply({ report, facts, vitalsCut, origin, address }: VerifiedReport): Promise<MachineAnswer> {
    const { senders, outbox, facts: known, records } = this.#state;
    const intervalMs = reportIntervalMs(facts?.ok ? facts.value.settings : known.timing());
    if (!(await this.#registry.confirm(origin, currentMs(), intervalMs))) {
      await this.#upkeep.giveUpSoon();
      return KEY_REVOKED;
    }
    const nowMs = currentMs();
    senders.keep(nowMs);
    const before = runningOf(records);
    known.take(report, facts, nowMs);
    this.#state.samples.observe(report.vitals, nowMs);
    recordContact(this.#state, report, nowMs, before);
    recordOutage(this.#state, report, nowMs);
    // The alarm is set here, within the report's transaction, and awaited later.
    const alarmed = this.#upkeep.setAlarm(nowMs);
    // A Node is thereby registered with what the rules result in.
    if (this.#ruling.isDue()) await this.#ruling.keepUp();
    const outcome = await this.#upkeep.keepTrue(report, nowMs);
    // The answer has the phase `two shims` only if the Node is registered.
    const notice = outcome.phase === "registered" ? senders.notice(currentMs()) : undefined;
    const answered = { ...outcome, ...notice };
    recordPhase(this.#state, answered.phase, currentMs(), nowMs);
    this.#index.update(address);
    await alarmed;
    if (!outbox.isEmpty()) await this.#upkeep.setAlarm(nowMs);
    const texts = [answered.message, known.boundsMessage(), vitalsCut];
    const messages = texts.filter((each) => each !== undefined);
    const message = messages.length > 0 && { message: messages.join("; ") };
    const refusal = known.refusal(report.factsDigest);
    return this.#reported({ ...answered, ...message, ...refusal, ...dueClearings(this.#state) });
  }

  /** Answers an untrusted process without applying its report. Records the phase `cloned`, but not `two shims`. */
  async #suspend(phase: DuplicatePhase): Promise<MachineAnswer> {
    const nowMs = this.#noteContact();
    const isCloned = phase === "cloned";
    const isNew = isCloned && lastPhase(this.#state.records) !== phase;
    if (isCloned) recordPhase(this.#state, phase, nowMs);
    this.#index.update();
    if (isNew) await this.#upkeep.giveUpSoon();
    return this.#answerWithoutTick({ ...duplicateNotice(phase), ready: !isCloned && this.#upkeep.isReady() });
  }

  /** Ends the machine's silence; returns the current time. Any report counts, even from one of several processes. */
  #noteContact(): number {
    const nowMs = currentMs();
    this.#upkeep.noteContact(nowMs);
    recordReturn(this.#state, nowMs);
    return nowMs;
  }

  #setupFailed(setupError: string): Promise<MachineAnswer> {
    const nowMs = this.#noteContact();
    recordSetupFailure(this.#state, setupError, nowMs);
    recordPhase(this.#state, "setup failed", nowMs);
    this.#index.update();
    return this.#answerWithoutTick({ phase: "setup failed", ready: this.#upkeep.isReady() });
  }

  /** Asks the new process to report again once the earlier process must have ended. */
  #wait(untilMs: number): Promise<MachineAnswer> {
    const nowMs = this.#noteContact();
    const reportInMs = Math.max(LEAST_WAIT_MS, untilMs - nowMs);
    const ready = this.#upkeep.isReady();
    return this.#answerWithoutTick({ phase: "registering", ready, message: WAITING, reportInMs });
  }

  /** Answers the machine with this outcome. Sends waiting events, but runs no tick. */
  async #answerWithoutTick(outcome: TickOutcome): Promise<MachineAnswer> {
    const { senders, records } = this.#state;
    senders.keep(currentMs());
    await this.#upkeep.setAlarm(currentMs());
    await this.#upkeep.flush(records.get("enrolment")?.name ?? "");
    return this.#reported(outcome);
  }

  #reported(outcome: TickOutcome & Pick<ReportAnswer, "factsRefused" | "clears">): MachineAnswer {
    const reportInMs = nextReportInMs(this.#state.facts.timing(), Math.random);
    const shim = this.#state.facts.current()?.versions?.shim ?? "";
    const version = isBehind(shim, VERSION) && { workerVersion: VERSION };
    return success({ reportInMs, ...outcome, ...version, ticket: this.#requests.offerTicket() });
  }
}
