// Chooses how reports reach the Worker: over a socket if one is open, else by HTTP. Opens sockets in the background.
import type { ReportAnswer } from "../../shared/protocol/answers.ts";
import { QUESTIONS_HEADER } from "../../shared/protocol/asking.ts";
import { GATEWAY_LIMITS, LIMITS } from "../../shared/protocol/limits.ts";
import type { Log, LogMessage } from "../base/log.ts";
import type { TransportChoice } from "../machine/transport.ts";
import { HttpQuestions } from "./http-questions.ts";
import { httpTransport } from "./http-transport.ts";
import type { ReportLink } from "./reporter.ts";
import type { GatewaySocket } from "./socket-transport.ts";
import { openSocket, type Upgrading } from "./upgrade.ts";

interface LinkOptions extends Upgrading {
  /** The value of --transport. */
  choice: TransportChoice;
  log: Log;
  /** Called once reports go over a socket, and the HTTP connection is no longer needed. */
  dropHttp: () => void;
  /** Called when the transport in use, or the time of the next attempt to open a socket, has changed. */
  changed: (transport: TransportInUse) => void;
  /** Opens a socket. Absent: openSocket. */
  open?: typeof openSocket;
}

export interface TransportInUse {
  via: "socket" | "http";
  choice: TransportChoice;
  /** The reason why there is no socket; null if that is no fault. */
  fault: string | null;
  /** The least milliseconds until the next attempt at a socket; null if the attempt follows the Worker's next offer. */
  againInMs: number | null;
}

/** The header of a report that asks the Worker to offer a socket. */
const WANTED = { "rollcall-transport": "socket" };

export class Link implements ReportLink {
  readonly #options: LinkOptions;
  #state: LinkState = NO_SOCKET;
  #socket: GatewaySocket | null = null;
  /** Identifies the present socket from the begin of its upgrade. Events of other sockets are ignored. */
  #attempt: AbortController | null = null;
  #asked: () => void = () => undefined;
  #disarm: () => void = () => undefined;
  #isOver = false;
  #shown = "";
  #logged = describe({ via: "http", fault: null });
  /** The questions over HTTP; null if all are off. */
  readonly #questions: HttpQuestions | null;

  constructor(options: LinkOptions) {
    this.#options = options;
    const { machine, answering, outbound, deadlineMs, clock } = options;
    const connect = () => httpTransport(machine.origin, deadlineMs, outbound);
    this.#questions = answering?.on.size ? new HttpQuestions({ machine, answering, clock, connect }) : null;
    this.#show();
  }

  /** Registers `asked`, which is called when the Worker wants a report at once. Only the last listener counts. */
  listen(asked: () => void): void {
    this.#asked = asked;
  }

  /** Returns the headers that a report by HTTP needs. */
  headers(): Record<string, string> {
    const names = this.#questions?.names ?? "";
    return {
      ...(this.#mayOpen() && isSocketWanted(this.#state, this.#nowMs()) && WANTED),
      ...(names !== "" && { [QUESTIONS_HEADER]: names }),
    };
  }

  /** Takes the Worker's offer and questions. Must be called with each answer to a report by HTTP. */
  offered(offer: ReportAnswer["socket"], questions?: ReportAnswer["questions"]): void {
    if (questions !== undefined && !this.#isOver) this.#questions?.take(questions);
    if (!this.#mayOpen()) return;
    const usable = isUsable(offer, this.#options.machine.origin) ? offer : undefined;
    this.#to(afterOffer(this.#state, usable, this.#nowMs(), this.#options.random()));
  }

  /** Returns the open socket; null if reports go by HTTP. */
  socket(): GatewaySocket | null {
    return this.#socket;
  }

  /** Drops a socket that may be stuck. The next report goes by HTTP, and its answer offers another socket. */
  drop(): void {
    this.#socket?.drop();
    this.#forget();
    this.#to(afterDrop(this.#state));
  }

  isOver(): boolean {
    return this.#isOver;
  }

  /** Closes the socket and opens no other. */
  close(): void {
    this.#isOver = true;
    this.#questions?.stop();
    this.#disarm();
    this.#socket?.close();
    this.#forget();
  }

  async #open(path: string): Promise<void> {
    const attempt = new AbortController();
    this.#attempt = attempt;
    const isMine = () => this.#attempt === attempt;
    const listener = {
      asked: () => this.#asked(),
      answered: () => void (isMine() && this.#to(afterAnswer(this.#state, this.#nowMs()))),
      accepted: (comeBackWithinMs: number) => {
        if (!isMine()) return;
        this.#to(afterAcceptance(this.#state, comeBackWithinMs));
        this.#options.dropHttp();
      },
      ended: (end: SocketLoss) => void (isMine() && this.#lose(end)),
    };
    const { open = openSocket } = this.#options;
    const opened = await open(this.#options, path, listener, attempt.signal);
    if (!isMine()) return opened.ok ? opened.value.close() : undefined;
    if (!opened.ok) {
      const { why, reason, retryAfterMs } = opened.error;
      // A crowd of machines is no fault of this one, so that it does not use HTTP for longer than the Worker asks.
      return this.#lose({
        why,
        comeBackInMs: retryAfterMs,
        isPlanned: isToWait(reason) && retryAfterMs > 0,
      });
    }
    this.#socket = opened.value;
    this.#to(afterOpening(this.#state, this.#nowMs()));
    // A report must follow soon, because the gateway closes a socket on which it accepts no report.
    this.#asked();
  }

  #lose(loss: SocketLoss): void {
    this.#forget();
    this.#to(afterLoss(this.#state, loss, this.#nowMs(), this.#options.random()));
  }

  #forget(): void {
    this.#attempt?.abort();
    this.#attempt = null;
    this.#socket = null;
  }

  #to(state: LinkState): void {
    this.#state = state;
    this.#disarm();
    const { due } = state;
    if (due !== null) {
      const inMs = Math.max(0, due.atMs - this.#nowMs());
      this.#disarm = this.#options.clock.timer(inMs, () => this.#due(due.path));
    }
    this.#show();
  }

  #due(path: string): void {
    this.#to(whenDue(this.#state, this.#nowMs()));
    if (this.#state.socket === "opening") void this.#open(path);
  }

  #show(): void {
    const { choice, log, changed } = this.#options;
    const { socket, fault, notBeforeMs } = this.#state;
    const via = socket === "accepted" ? "socket" : "http";
    const text = describe({ via, fault });
    const shown = `${text} ${notBeforeMs}`;
    if (shown === this.#shown) return;
    this.#shown = shown;
    const leftMs = notBeforeMs - this.#nowMs();
    changed({ via, choice, fault, againInMs: leftMs > 0 ? leftMs : null });
    if (text === this.#logged) return;
    this.#logged = text;
    log(choice === "socket" && fault !== null ? "warn" : "info", text);
  }

  #mayOpen(): boolean {
    return !this.#isOver && this.#options.choice !== "http";
  }

  #nowMs(): number {
    return this.#options.clock.nowMs();
  }
}

const isToWait = (reason: string | null) => reason === "rate-limited" || reason === "busy";

function describe({ via, fault }: Pick<TransportInUse, "via" | "fault">): LogMessage {
  if (via === "socket") return "reports go over a socket";
  return `reports go by HTTP${fault === null ? "" : `; no socket: ${fault}`}`;
}

/** Returns whether an offer is usable: the shim's signature goes only to the Worker, not to another server. */
function isUsable(offer: Partial<NonNullable<ReportAnswer["socket"]>> | undefined, origin: string): boolean {
  const { path, withinMs = -1 } = offer ?? {};
  // The URL of a WebSocket has no fragment (RFC 6455, 3).
  if (typeof path !== "string" || path.length > LIMITS.textLength || path.includes("#")) return false;
  if (!(withinMs >= 0)) return false;
  return path.startsWith("/") && URL.canParse(path, origin) && new URL(path, origin).origin === origin;
}

/** The state of a link. The pure functions below decide from this state when to open a socket. */
export interface LinkState {
  /** opening: the upgrade has been requested. accepted: the Worker has accepted a report on the socket. */
  socket: "none" | "opening" | "open" | "accepted";
  /** The time when the socket opened. `answeredAtMs` is the time of the socket's last answer. */
  openedAtMs: number;
  answeredAtMs: number;
  /** The path of the next socket, and the time to open it; null without an offer. */
  due: Due | null;
  /** The earliest time at which the next socket may be opened. */
  notBeforeMs: number;
  /** The number of failures in a row. */
  failures: number;
  /** The reason why there is no socket; null if that is no fault. */
  fault: string | null;
  /** The longest wait before a new socket after a loss, as last set by the gateway; null before the first attempt. */
  comeBackWithinMs: number | null;
}

interface Due {
  path: string;
  offeredAtMs: number;
  atMs: number;
}

/** The reason why a socket has ended, or could not be opened. */
export interface SocketLoss {
  why: string;
  /** Milliseconds that the Worker has asked the machine to wait before the next socket; 0 if it has not. */
  comeBackInMs: number;
  /** true if the loss is no failure: the Worker asked for the next socket later or elsewhere, or the Worker is busy. */
  isPlanned: boolean;
}

export const NO_SOCKET: LinkState = {
  socket: "none",
  openedAtMs: 0,
  answeredAtMs: 0,
  due: null,
  notBeforeMs: 0,
  failures: 0,
  fault: null,
  comeBackWithinMs: null,
};

/** The least period after a loss in which the machines of one gateway open sockets, at random times. */
const LEAST_WINDOW_MS = GATEWAY_LIMITS.comeBackMs;
/** The age at which an offer expires. Its path's ticket is valid 20 seconds longer, so that the upgrade can end. */
const TICKET_MS = (GATEWAY_LIMITS.ticketSeconds - 20) * 1000;
/** The least time from a socket's opening to its last answer. A socket with a shorter life counts as a failure. */
const LASTING_MS = 60_000;
const AWAY_MS = GATEWAY_LIMITS.awaySeconds * 1000;
/** The largest random addition to AWAY_MS, as a fraction of AWAY_MS. */
const AWAY_JITTER = 0.5;

/** Returns whether the next report must ask the Worker for a socket. */
export function isSocketWanted({ socket, notBeforeMs }: LinkState, nowMs: number): boolean {
  return socket === "none" && nowMs >= notBeforeMs;
}

/** Returns the state after the answer to a report by HTTP. `random` is typically Math.random(). */
export function afterOffer(
  state: LinkState,
  offer: ReportAnswer["socket"],
  nowMs: number,
  random: number,
): LinkState {
  if (!isSocketWanted(state, nowMs)) return state;
  if (offer === undefined) return { ...state, due: null };
  const { path, withinMs } = offer;
  const { comeBackWithinMs } = state;
  const windowMs =
    comeBackWithinMs === null ? withinMs : Math.max(LEAST_WINDOW_MS, withinMs, comeBackWithinMs);
  const atMs = state.due?.atMs ?? nowMs + random * Math.min(windowMs, TICKET_MS);
  return { ...state, due: { path, offeredAtMs: nowMs, atMs } };
}

/** Returns the state when the time to open a socket has come. Drops an expired offer, as after a suspend. */
export function whenDue(state: LinkState, nowMs: number): LinkState {
  const { due, comeBackWithinMs } = state;
  if (due === null) return state;
  if (nowMs - due.offeredAtMs > TICKET_MS) return { ...state, due: null };
  return { ...state, socket: "opening", due: null, comeBackWithinMs: comeBackWithinMs ?? 0 };
}

export function afterOpening(state: LinkState, nowMs: number): LinkState {
  return { ...state, socket: "open", openedAtMs: nowMs, answeredAtMs: nowMs };
}

/** Returns the state after an answer over the socket. */
export function afterAnswer(state: LinkState, nowMs: number): LinkState {
  return { ...state, answeredAtMs: nowMs };
}

/** Returns the state after the Worker has accepted a report over the socket. */
export function afterAcceptance(state: LinkState, comeBackWithinMs: number): LinkState {
  return { ...state, socket: "accepted", fault: null, comeBackWithinMs };
}

/** Returns the state after a socket was refused or has ended. */
export function afterLoss(
  state: LinkState,
  { why, comeBackInMs, isPlanned }: SocketLoss,
  nowMs: number,
  random: number,
): LinkState {
  const isLasting = state.socket === "accepted" && state.answeredAtMs - state.openedAtMs >= LASTING_MS;
  const before = isLasting ? 0 : state.failures;
  const failures = isLasting || isPlanned ? before : before + 1;
  const isGivenUp = !isPlanned && failures >= GATEWAY_LIMITS.failures;
  const awayMs = isGivenUp ? AWAY_MS * (1 + random * AWAY_JITTER) : 0;
  return {
    ...state,
    socket: "none",
    due: null,
    notBeforeMs: nowMs + Math.max(comeBackInMs, awayMs),
    failures,
    fault: why,
  };
}

/** Returns the state after this machine has dropped its connections, which is no failure. */
export function afterDrop(state: LinkState): LinkState {
  return { ...state, socket: "none", due: null };
}
