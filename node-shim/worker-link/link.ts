// The way of a machine's reports to its Worker: a socket where there is one, else HTTP. Opens the socket that the Worker
// offers, beside the reports and without delaying them; link-state.ts decides when.
import type { ReportAnswer } from "../../shared/protocol/answers.ts";
import { GATEWAY_LIMITS } from "../../shared/protocol/limits.ts";
import type { Log, LogMessage } from "../base/log.ts";
import type { TransportChoice } from "../machine/transport.ts";
import type { ReportLink } from "./reporter.ts";
import type { GatewaySocket } from "./socket-transport.ts";
import { openSocket, type Upgrading } from "./upgrade.ts";

interface LinkOptions extends Upgrading {
  /** --transport */
  choice: TransportChoice;
  /** Typically Math.random. */
  random: () => number;
  log: Log;
  /** Called once reports go over a socket: the connection of HTTP is not needed meanwhile. */
  dropHttp: () => void;
  /** Called when what is in use has changed, or when a socket is tried again. */
  changed: (transport: TransportInUse) => void;
}

export interface TransportInUse {
  via: "socket" | "http";
  choice: TransportChoice;
  /** Why there is no socket; null: nothing is wrong. */
  fault: string | null;
  /** A socket is tried again then at the earliest, in milliseconds; null: with what the Worker answers next. */
  againInMs: number | null;
}

/** Asks the Worker to offer a socket. */
const WANTED = { "rollcall-transport": "socket" };

export class Link implements ReportLink {
  readonly #options: LinkOptions;
  #state: LinkState = NO_SOCKET;
  #socket: GatewaySocket | null = null;
  /** The socket's, from its upgrade on: what another one says does not count. */
  #attempt: AbortController | null = null;
  #asked: () => void = () => undefined;
  #disarm: () => void = () => undefined;
  #isOver = false;
  #shown = "";
  #logged = describe({ via: "http", fault: null });

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#show();
  }

  /** `asked` is called when the Worker wants a report now. Only the last listener counts. */
  listen(asked: () => void): void {
    this.#asked = asked;
  }

  /** Of a report by HTTP. */
  headers(): Record<string, string> {
    return this.#mayOpen() && isSocketWanted(this.#state, this.#nowMs()) ? WANTED : {};
  }

  /** Call it with each answer to a report by HTTP. */
  offered(offer: ReportAnswer["socket"]): void {
    if (!this.#mayOpen()) return;
    const usable = isUsable(offer, this.#options.machine.origin) ? offer : undefined;
    this.#to(afterOffer(this.#state, usable, this.#nowMs(), this.#options.random()));
  }

  /** null: reports go by HTTP. */
  socket(): GatewaySocket | null {
    return this.#socket;
  }

  /** The connection may be stuck: the next report goes by HTTP, and its answer offers another socket. */
  drop(): void {
    this.#socket?.drop();
    this.#forget();
    this.#to(afterDrop(this.#state));
  }

  isOver(): boolean {
    return this.#isOver;
  }

  /** Nothing is opened or sent afterwards. */
  close(): void {
    this.#isOver = true;
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
    const opened = await openSocket(this.#options, path, listener, attempt.signal);
    if (!isMine()) return opened.ok ? opened.value.close() : undefined;
    if (!opened.ok) {
      const { why, retryAfterMs } = opened.error;
      return this.#lose({ why, comeBackInMs: retryAfterMs, isPlanned: false });
    }
    this.#socket = opened.value;
    this.#to(afterOpening(this.#state, this.#nowMs()));
    // A socket without an accepted report does not live for long.
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
    if (state.due !== null) {
      const inMs = Math.max(0, state.due.atMs - this.#nowMs());
      this.#disarm = this.#options.clock.timer(inMs, () => this.#due());
    }
    this.#show();
  }

  #due(): void {
    const path = this.#state.due?.path ?? "";
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
    changed({ via, choice, fault, againInMs: via === "http" && leftMs > 0 ? leftMs : null });
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

function describe({ via, fault }: Pick<TransportInUse, "via" | "fault">): LogMessage {
  if (via === "socket") return "reports go over a socket";
  return `reports go by HTTP${fault === null ? "" : `; no socket: ${fault}`}`;
}

/** The signature that opens a socket goes to the Worker alone, whatever an answer says. */
function isUsable(offer: Partial<NonNullable<ReportAnswer["socket"]>> | undefined, origin: string): boolean {
  const { path, withinMs = -1 } = offer ?? {};
  // The URL of a WebSocket has no fragment (RFC 6455, 3).
  if (typeof path !== "string" || path.includes("#") || !(withinMs >= 0)) return false;
  return path.startsWith("/") && URL.canParse(path, origin) && new URL(path, origin).origin === origin;
}

// Which way a machine's reports go, and when it opens a socket: decided from what has happened, by the clock and the
// randomness of its arguments. Opens nothing.

export interface LinkState {
  /** "opening": from the upgrade on. "open": it is there. "accepted": a report was accepted on it. */
  socket: "none" | "opening" | "open" | "accepted";
  /** Since when it is open, and when it had its last answer. */
  openedAtMs: number;
  answeredAtMs: number;
  /** Where and when to open one; null: nowhere yet. */
  due: Due | null;
  /** None is opened before. */
  notBeforeMs: number;
  /** How many have failed in a row. */
  failures: number;
  /** Why there is none; null: nothing is wrong. */
  fault: string | null;
  /** What the gateway said last; null: no socket was tried yet. */
  comeBackWithinMs: number | null;
}

interface Due {
  path: string;
  offeredAtMs: number;
  atMs: number;
}

/** Why a socket is no more, or did not come to be. */
export interface SocketLoss {
  why: string;
  /** What the Worker has asked for; 0: nothing. */
  comeBackInMs: number;
  /** Nothing is wrong: it is no failure. */
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

/** After a loss, sockets are opened within this at least, so that many machines do not come at once. */
const LEAST_WINDOW_MS = GATEWAY_LIMITS.comeBackMs;
/** The path's ticket has to last until the upgrade is through. */
const TICKET_MS = (GATEWAY_LIMITS.ticketSeconds - 20) * 1000;
/**
 * A socket that has served for less counts as a failure: what cuts it would cut each that follows. One that is cut while nothing
 * is said on it has served until its last answer.
 */
const LASTING_MS = 60_000;
const AWAY_MS = GATEWAY_LIMITS.awaySeconds * 1000;
/** Of AWAY_MS: so much more, at random. */
const AWAY_JITTER = 0.5;

/** Is the Worker asked for one with the next report? */
export function isSocketWanted({ socket, notBeforeMs }: LinkState, nowMs: number): boolean {
  return socket === "none" && nowMs >= notBeforeMs;
}

/** A report by HTTP was answered. `random`: typically Math.random(). */
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

/** The time to open one has come; without `due` where the offer was for sooner, as after a suspend. */
export function whenDue(state: LinkState, nowMs: number): LinkState {
  const { due, comeBackWithinMs } = state;
  if (due === null || state.socket !== "none") return state;
  if (nowMs - due.offeredAtMs > TICKET_MS) return { ...state, due: null };
  return { ...state, socket: "opening", due: null, comeBackWithinMs: comeBackWithinMs ?? 0 };
}

export function afterOpening(state: LinkState, nowMs: number): LinkState {
  return { ...state, socket: "open", openedAtMs: nowMs, answeredAtMs: nowMs };
}

/** A report or a heartbeat was answered over it. */
export function afterAnswer(state: LinkState, nowMs: number): LinkState {
  return { ...state, answeredAtMs: nowMs };
}

/** A report was accepted over it. */
export function afterAcceptance(state: LinkState, comeBackWithinMs: number): LinkState {
  return { ...state, socket: "accepted", fault: null, comeBackWithinMs };
}

/** It was refused, or is over. */
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

/** This machine has dropped its connections, since they may be stuck: nobody's failure. */
export function afterDrop(state: LinkState): LinkState {
  return { ...state, socket: "none", due: null };
}
