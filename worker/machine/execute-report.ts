// Executes the step that decideReport returned: stores, writes to the apiserver, and answers. Decides nothing.
import type { DuplicatePhase } from "../../shared/node/duplicate-senders.ts";
import { isBehind } from "../../shared/fleet/versions.ts";
import type { Report } from "../../shared/protocol/report.ts";
import type { ReportAnswer } from "../../shared/protocol/answers.ts";
import { failure, success } from "../../shared/result.ts";
import { VERSION } from "../../shared/version.ts";
import type { TickOutcome } from "../tick/tick.ts";
import { recordPhase } from "../tick/phase.ts";
import { KEY_REVOKED, type MachineAnswer, UNAUTHENTICATED } from "./answers.ts";
import { recordContact, recordOutage, recordReturn, recordSetupFailure, runningOf } from "./contact.ts";
import type { ReportStep } from "./decide-report.ts";
import { duplicateNotice } from "./duplicate-senders.ts";
import { type FreshRequests, RATE_LIMITED } from "./fresh-requests.ts";
import type { IndexTeller } from "./index-updates.ts";
import type { MachineState } from "./machine-state.ts";
import type { ReportedFacts } from "./parse-body.ts";
import type { RegistryStanding } from "./registry-status.ts";
import { nextReportInMs } from "./report-interval.ts";
import type { Upkeep } from "./upkeep.ts";
import { currentMs } from "../clock.ts";

/** A report whose signature, body and grant are verified. */
interface VerifiedReport {
  report: Report;
  facts: ReportedFacts;
  /** The configured origin that it was signed for. */
  origin: string;
  /** From which it came. */
  address: string;
}

/** A report sooner than that would not tell more. */
const MIN_WAIT_MS = 1000;
const WAITS =
  "Another process of the shim has just reported: these facts count once it is certain that it is gone.";

type Challenge = Extract<ReportStep, { kind: "challenge" }>;

export class ReportExecutor {
  readonly #state: MachineState;
  readonly #requests: FreshRequests;
  readonly #standing: RegistryStanding;
  readonly #upkeep: Upkeep;
  readonly #teller: Pick<IndexTeller, "look">;

  constructor(
    state: MachineState,
    requests: FreshRequests,
    standing: RegistryStanding,
    upkeep: Upkeep,
    teller: Pick<IndexTeller, "look">,
  ) {
    this.#state = state;
    this.#requests = requests;
    this.#standing = standing;
    this.#upkeep = upkeep;
    this.#teller = teller;
  }

  /** Nothing is awaited before the step takes effect in memory: of two equal requests one is applied. */
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

  /** What the report changes is stored in one write; only the registry's confirmation is awaited before. */
  async #apply({ report, facts, origin, address }: VerifiedReport): Promise<MachineAnswer> {
    const { senders, outbox, facts: known, records } = this.#state;
    if (!(await this.#standing.confirm(origin, currentMs()))) return KEY_REVOKED;
    const nowMs = currentMs();
    senders.keep(nowMs);
    const before = runningOf(records);
    known.take(report, facts, nowMs);
    this.#state.samples.observe(report.vitals, nowMs);
    recordContact(this.#state, report, nowMs, before);
    recordOutage(this.#state, report, nowMs);
    // Not awaited here, so that it is part of the same write.
    const alarmed = this.#upkeep.setAlarm(nowMs);
    const outcome = await this.#upkeep.keepTrue(report, nowMs);
    // The phase `two shims` is answered only where nothing is wrong with the Node itself.
    const notice = outcome.phase === "registered" ? senders.notice(currentMs()) : undefined;
    const answered = { ...outcome, ...notice };
    recordPhase(this.#state, answered.phase, currentMs(), nowMs);
    this.#teller.look(address);
    await alarmed;
    if (!outbox.isEmpty()) await this.#upkeep.setAlarm(nowMs);
    const said = [answered.message, known.boundsMessage()].filter((each) => each !== undefined);
    const message = said.length > 0 && { message: said.join("; ") };
    return this.#reported({ ...answered, ...message, ...known.refusal(report.factsDigest) });
  }

  /**
   * Stores and applies nothing of the report. The trusted shim's reports set the phase; among clones none is trusted.
   */
  #suspend(phase: DuplicatePhase): Promise<MachineAnswer> {
    const nowMs = this.#noteContact();
    const isCloned = phase === "cloned";
    if (isCloned) recordPhase(this.#state, phase, nowMs);
    this.#teller.look();
    return this.#answerWithoutTick({ ...duplicateNotice(phase), ready: !isCloned && this.#upkeep.isReady() });
  }

  /** The machine is there, whoever of those that have its key has reported. */
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
    this.#teller.look();
    return this.#answerWithoutTick({ phase: "setup failed", ready: this.#upkeep.isReady() });
  }

  /** The machine, where it has restarted, reports again when nobody can be there beside it. */
  #wait(untilMs: number): Promise<MachineAnswer> {
    const nowMs = this.#noteContact();
    const reportInMs = Math.max(MIN_WAIT_MS, untilMs - nowMs);
    const ready = this.#upkeep.isReady();
    return this.#answerWithoutTick({ phase: "registering", ready, message: WAITS, reportInMs });
  }

  /** Sends waiting events, and neither renews the lease nor writes the status. */
  async #answerWithoutTick(outcome: TickOutcome): Promise<MachineAnswer> {
    const { senders, records } = this.#state;
    senders.keep(currentMs());
    await this.#upkeep.setAlarm(currentMs());
    await this.#upkeep.flush(records.get("enrolment")?.name ?? "");
    return this.#reported(outcome);
  }

  #reported(outcome: TickOutcome & Pick<ReportAnswer, "factsRefused">): MachineAnswer {
    const reportInMs = nextReportInMs(this.#state.facts.timing(), Math.random);
    const shim = this.#state.facts.current()?.versions?.shim ?? "";
    const version = isBehind(shim, VERSION) && { workerVersion: VERSION };
    return success({ reportInMs, ...outcome, ...version, ticket: this.#requests.offerTicket() });
  }
}
