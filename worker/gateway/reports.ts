// Forwards reports and their answers between machine and node object, which verifies them and may lend the lease.
import type { Problem, ReportAnswer } from "../../shared/protocol/answers.ts";
import { TAKES_QUESTIONS } from "../../shared/protocol/asking.ts";
import type { ReportFrame } from "../../shared/protocol/frames.ts";
import { GATEWAY_LIMITS } from "../../shared/protocol/limits.ts";
import { MISSING_USAGE } from "../../shared/protocol/usage.ts";
import { agreeSession } from "../identity/session-key.ts";
import { inTime } from "../kube/deadline.ts";
import { type MachineAnswer, tooLate } from "../machine/answers.ts";
import type { SocketAnswer } from "../machine/lease-loan.ts";
import { problem, problemOf } from "../problems.ts";
import { RATE_LIMITS, take } from "../storage/token-bucket.ts";
import type { Endings, GatewayParts } from "./endings.ts";
import { importHeartbeatKey } from "./heartbeats.ts";
import { WHILE_BUSY } from "./lateness.ts";
import { holdLoan } from "./lease.ts";
import type { Member } from "./members.ts";
import type { HeldSocket } from "./sockets.ts";

/** The time limit for the node object's answer: the shim waits for nine seconds, and a later answer is not sent. */
export const REPORT_WITHIN_MS = 8800;
/** The least interval after which a machine without a loan counts as silent: it may report later than requested. */
const LEAST_BEAT_MS = 10_000;

type Lent = NonNullable<SocketAnswer["lent"]>;
type Begun = { session: NonNullable<HeldSocket["session"]>; key: string };

export class Reports {
  readonly #in: GatewayParts;
  readonly #endings: Endings;
  readonly #encoder = new TextEncoder();
  #inProgress = 0;

  constructor(parts: GatewayParts, endings: Endings) {
    this.#in = parts;
    this.#endings = endings;
  }

  async take(socket: HeldSocket, report: ReportFrame): Promise<void> {
    const { isTaken, bucket } = take(socket.reports, RATE_LIMITS.socketReports, this.#in.nowMs());
    if (!isTaken) return this.#endings.sendAway(socket, "too often");
    socket.reports = bucket;
    if (this.#isTooBusyFor(socket)) return this.#refuse(socket);
    socket.reporting++;
    this.#inProgress++;
    try {
      await this.#in.members.inTurn(socket.attachment.name, (member) => this.#pass(socket, member, report));
    } finally {
      socket.reporting--;
      this.#inProgress--;
    }
  }

  /**
   * Returns true if the gateway refuses a report of this socket by itself. It takes the first report over a socket: that
   * one follows a report over HTTP, so that the machine's object is in memory.
   */
  #isTooBusyFor({ attachment: { beatMs } }: HeldSocket): boolean {
    return this.#in.lateness.ms > 0 && beatMs !== null && this.#inProgress >= WHILE_BUSY.reports;
  }

  /** Refuses a report of a late isolate without its node object, whose start would cost more than the refusal. */
  #refuse(socket: HeldSocket): Promise<void> {
    socket.refusedMs = this.#in.nowMs();
    return this.#finish(socket, tooLate(this.#in.random), null);
  }

  async #pass(socket: HeldSocket, member: Member, { token, body }: ReportFrame): Promise<void> {
    if (socket.closedMs !== null) return;
    const { name, kid, session, address, gateway } = socket.attachment;
    const returned = await this.#endings.takeBack(member);
    const untilMs = this.#in.nowMs() + REPORT_WITHIN_MS;
    const request = { name, kid, token, body: new Uint8Array(this.#encoder.encode(body)), address, untilMs };
    const asked = { request, gateway, session, returned, floor: member.floor };
    const answered = await this.#ask(name, () => this.#in.node(name).reportBySocket(asked));
    // If the node object's answer with a loan did not arrive, the loan is lost: the node object must read the lease.
    if (!answered && socket.closedMs !== null) return this.#endings.endInTurn(member);
    if (!answered) return this.#send(socket, INTERNAL, null);
    const { answer, lent } = answered;
    const started = lent && (await this.#start(lent, answer));
    if (!started && answer.ok) await this.#agreeOnAsking(socket);
    // Nothing is awaited from here until the answer is sent. A withdrawal may have overtaken the loan.
    const begun = started && started.session.held.loan.epoch > member.floor ? started : null;
    if (begun) member.held = begun.session.held;
    if (socket.closedMs === null) return this.#finish(socket, answer, begun);
    // The node object may have dismissed the machine while the machine's report was in progress.
    if (begun) this.#in.members.put(name, gateway);
    return this.#endings.endInTurn(member);
  }

  /** Returns the node object's answer; null if no answer comes in time. */
  async #ask(name: string, ask: () => Promise<SocketAnswer>): Promise<SocketAnswer | null> {
    try {
      return await inTime(REPORT_WITHIN_MS, ask, undefined, this.#in.timer);
    } catch (error) {
      this.#in.log({ node: name, message: "a report has no answer", error: String(error) });
      return null;
    }
  }

  async #start({ order: loan, key }: Lent, answer: MachineAnswer): Promise<Begun> {
    const nowMs = this.#in.nowMs();
    const mac = await importHeartbeatKey(loan.sessionKey);
    const nextInMs = reportInMs(answer) ?? loan.intervalMs;
    const held = holdLoan(loan, nowMs);
    return { key, session: { key: mac, n: 0, nonce: this.#in.nonce(), answeredMs: nowMs, nextInMs, held } };
  }

  /** Agrees on a key for the frames about questions with a machine without a session: once for a socket. */
  async #agreeOnAsking({ questions, attachment: { name, session } }: HeldSocket): Promise<void> {
    if (questions.key || questions.asking) return;
    const agreed = await agreeSession(name, session);
    if (agreed) questions.asking = { offer: agreed.key, key: await importHeartbeatKey(agreed.sessionKey) };
  }

  async #finish(socket: HeldSocket, answer: MachineAnswer, begun: Begun | null): Promise<void> {
    socket.isReportDue = false;
    if (answer.ok) {
      // These counts start again with each accepted report, so that they do not add up over weeks.
      socket.earlyBeats = 0;
      socket.refusedFrames = 0;
      const beatMs = begun?.session.held.loan.intervalMs;
      this.#accept(socket, beatMs ?? Math.max(LEAST_BEAT_MS, reportInMs(answer) ?? 0));
    }
    if (begun) {
      socket.session = begun.session;
      Object.assign(socket.usage, { key: begun.session.key, n: 0 });
    }
    this.#send(socket, answer, begun);
    if (answer.ok) await this.#in.alarm.atLatest(dueMs(socket));
  }

  /** Closes the machine's other sockets, except a newer socket, which may soon replace this socket. */
  #accept(socket: HeldSocket, beatMs: number): void {
    const { held, members } = this.#in;
    const { name, gateway, openedMs } = socket.attachment;
    for (const other of held.open(name)) {
      const { attachment } = other;
      if (other === socket || (attachment.beatMs === null && attachment.openedMs > openedMs)) continue;
      other.replaced = { isNoted: false };
      // A process that still uses the replaced socket is a second one, and must not alternate with the first process.
      this.#endings.hangUp(other, "replaced", 1000 * GATEWAY_LIMITS.awaySeconds);
    }
    held.hear(socket, beatMs);
    members.put(name, gateway);
  }

  #send(socket: HeldSocket, answer: MachineAnswer | typeof INTERNAL, begun: Begun | null): void {
    const { held, members, receiver } = this.#in;
    const { comeBackMs, comeBackMsOfMachine } = GATEWAY_LIMITS;
    const { questions } = socket;
    if (answer.ok) questions.isInSession = begun !== null;
    const asking = questions.key || begun || !answer.ok ? null : questions.asking;
    held.send(socket, {
      type: "report-answer",
      ...wireOf(answer),
      ...(begun && { session: { key: begun.key, nonce: begun.session.nonce } }),
      ...(asking && { asking: asking.offer }),
      comeBackWithinMs: Math.max(comeBackMs, comeBackMsOfMachine * members.count),
      takes: [
        "usage",
        ...(receiver ? [MISSING_USAGE] : []),
        // A machine that has named its questions since this gateway is in memory need not name them again.
        ...(questions.key ? [] : [TAKES_QUESTIONS]),
      ],
    });
  }
}

/** Returns the milliseconds between two heartbeats or reports while the isolate is not late. */
export function usualBeatMs({ attachment: { beatMs } }: HeldSocket): number {
  return beatMs ?? LEAST_BEAT_MS;
}

/** Returns the time at which the machine has missed three heartbeats. */
export function dueMs(socket: HeldSocket): number {
  const { attachment, session } = socket;
  const everyMs = usualBeatMs(socket);
  // A busy gateway asks for the next heartbeat later than usual. The first heartbeat after a report may be later too.
  const laterMs = session && session.n > 0 ? Math.max(0, session.nextInMs - everyMs) : 0;
  return attachment.heardMs + GATEWAY_LIMITS.missedBeats * everyMs + laterMs;
}

const INTERNAL = { ok: false, error: { reason: "internal" } } as const;

/** Returns the status and body that the answer has over HTTP. */
function wireOf(answer: MachineAnswer | typeof INTERNAL): { status: number; body: ReportAnswer | Problem } {
  if (answer.ok && "phase" in answer.value) {
    const { gateway: _, ...body } = answer.value;
    return { status: 200, body };
  }
  const body =
    answer.ok || answer.error.reason === "internal" ? problem("internal") : problemOf(answer.error);
  return { status: body.status, body };
}

function reportInMs(answer: MachineAnswer): number | undefined {
  return answer.ok && "phase" in answer.value ? answer.value.reportInMs : undefined;
}
