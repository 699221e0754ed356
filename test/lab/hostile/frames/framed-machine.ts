// Plays a machine that reports over sockets, and sends only what a shim sends. The machine's keys never leave this
// file.
import { canonicalJson } from "../../../../shared/protocol/digest.ts";
import type { GatewayFrame, ReportFrame } from "../../../../shared/protocol/frames.ts";
import type { Problem, ReportAnswer } from "../../../../shared/protocol/answers.ts";
import { PROTOCOL, SIGNALS } from "../../../../shared/protocol/report.ts";
import type { MachineKey } from "../../../../node-shim/identity/identity.ts";
import type { Transport } from "../../../../node-shim/worker-link/exchange.ts";
import {
  makeSessionKeys,
  type SessionKeys,
  startSession,
} from "../../../../node-shim/worker-link/session.ts";
import { sha256Base64url, signConnect, signReport } from "../../../../node-shim/worker-link/sign.ts";
import { connectTicket } from "../../../../worker/identity/issued.ts";
import { parseMacKeys } from "../../../../worker/identity/mac-keys.ts";
import { machineFacts, machineVitals } from "../../bench/machine.ts";
import { MAC_KEYS, ORIGIN } from "../agreed.ts";
import { WireSocket } from "./wire-socket.ts";

/** The Worker's address, the transport and the clock of the machines. */
export interface FramedPlace {
  /** The URL of the Worker. */
  url: string;
  /** Sends a request by HTTP. */
  send: Transport;
  /** The clock of the Worker and of the machines, in milliseconds since 1970. */
  nowMs: () => number;
}

/** The data of a socket, and of its session if it has one. */
export interface SessionOfSocket {
  keys: SessionKeys;
  /** The Worker's session key, and the nonces of its answers. null if there is no session. */
  session: { key: string; nonces: string[] } | null;
  reports: ReportFrame[];
  beats: string[];
}

export interface FramedSocket extends SessionOfSocket {
  wire: WireSocket;
}

type ReportAnswerFrame = Extract<GatewayFrame, { type: "report-answer" }>;

const FACTS = machineFacts();
const FACTS_DIGEST = sha256Base64url(canonicalJson(FACTS));
const TICKET_KEYS = parseMacKeys(MAC_KEYS);
/**
 * The largest number of reports until one is accepted. The first report gets a challenge and a request for the
 * facts; a new Node takes another report.
 */
const MAX_REPORTS = 6;

export class FramedMachine {
  readonly name: string;
  readonly kid: string;
  readonly #key: MachineKey;
  readonly #place: FramedPlace;
  #gateway = 0;
  #opened = 0;
  #ticket = "";
  #n = 0;
  #vitals = 0;
  #areFactsKnown = false;

  constructor(name: string, { key, kid }: { key: MachineKey; kid: string }, place: FramedPlace) {
    this.name = name;
    this.kid = kid;
    this.#key = key;
    this.#place = place;
  }

  /** Signs the next report. `session` belongs to the socket that carries it; undefined for a report by HTTP. */
  async signed(session?: string): Promise<ReportFrame> {
    const body = JSON.stringify({
      protocol: PROTOCOL,
      startId: `start-of-${this.name}`,
      machineTime: new Date(this.#place.nowMs()).toISOString(),
      vitals: machineVitals(this.#vitals++),
      factsDigest: FACTS_DIGEST,
      ...(this.#areFactsKnown ? {} : { facts: FACTS }),
    });
    const signed = { sub: this.name, aud: ORIGIN, body: sha256Base64url(body) };
    const claims = {
      ...signed,
      ticket: this.#ticket,
      n: ++this.#n,
      ...(session !== undefined && { session }),
    };
    return { type: "report", token: await signReport(this.#key, this.kid, claims), body };
  }

  /** Keeps the ticket of an answer for the next report. Returns true if the Worker accepted the report. */
  #took(status: number, body: ReportAnswer | Problem): boolean {
    if (body.ticket !== undefined && body.ticket !== this.#ticket) {
      this.#ticket = body.ticket;
      this.#n = 0;
    }
    if (status === 200) this.#areFactsKnown = true;
    else if (status === 412 || ("factsWanted" in body && body.factsWanted)) this.#areFactsKnown = false;
    else if (status !== 409) throw new Error(`a machine's own report has ${status}: ${JSON.stringify(body)}`);
    return status === 200;
  }

  /** Reports by HTTP until the machine is registered and has a gateway. */
  async register(): Promise<void> {
    for (let reports = 0; reports < MAX_REPORTS; reports++) {
      const { token, body } = await this.signed();
      const headers = {
        "content-type": "application/json",
        "rollcall-transport": "socket",
        authorization: `Bearer ${token}`,
      };
      const path = `/v1/nodes/${this.name}/report`;
      const response = await this.#place.send({ method: "POST", path, headers, body });
      const answer = JSON.parse(response.body) as ReportAnswer;
      if (!this.#took(response.status, answer) || !answer.socket) continue;
      this.#gateway = Number(answer.socket.path.split("/")[3]);
      return;
    }
    throw new Error(`${this.name} gets no gateway`);
  }

  /**
   * Returns the upgrade that the Worker would offer with the next report. Each ticket gets a
   * time of its own, so that all tickets differ.
   */
  async upgrade(keys: SessionKeys): Promise<{ path: string; token: string }> {
    const { name, kid } = this;
    const path = `/v1/gateways/${this.#gateway}/nodes/${name}`;
    const connecting = { name, kid, gateway: this.#gateway };
    const ticket = await connectTicket(TICKET_KEYS, connecting, this.#place.nowMs() - this.#opened++);
    const claims = { sub: name, aud: ORIGIN, method: "GET", path, session: keys.publicKey } as const;
    return { path: `${path}?t=${ticket}`, token: await signConnect(this.#key, kid, claims) };
  }

  async open(): Promise<FramedSocket> {
    const keys = makeSessionKeys();
    const { path, token } = await this.upgrade(keys);
    const wire = await WireSocket.open(this.#place.url, path, token);
    return { wire, keys, session: null, reports: [], beats: [] };
  }

  /** Repeats a report until it is accepted and a session has begun. */
  async report(socket: FramedSocket): Promise<void> {
    for (let reports = 0; reports < MAX_REPORTS; reports++) {
      const frame = await this.signed(socket.keys.publicKey);
      socket.reports.push(frame);
      const answer = await answered(socket, JSON.stringify(frame));
      if (answer.type !== "report-answer") throw new Error(`to a report: ${JSON.stringify(answer)}`);
      const { status, body, session } = answer satisfies ReportAnswerFrame;
      socket.session = session ? { key: session.key, nonces: [session.nonce] } : null;
      socket.beats = [];
      if (this.#took(status, body) && session) return;
    }
    throw new Error(`nothing is lent to ${this.name}`);
  }

  /** Returns the first `count` heartbeats that a session with this socket's keys would send for this nonce. */
  beats({ keys, session }: SessionOfSocket, nonce: string, count: number): string[] {
    const begun = session && startSession(this.name, keys, { key: session.key, nonce });
    if (!begun) throw new Error(`${this.name} has no session`);
    const { signals } = machineVitals(this.#vitals);
    const available = SIGNALS.map((signal) => signals[signal]?.[0] ?? null);
    return Array.from({ length: count }, () => begun.heartbeat({ at: this.#place.nowMs(), available }));
  }

  /** Returns the next heartbeat of the session, which is quiet. */
  nextBeat(socket: SessionOfSocket): string {
    const n = socket.beats.length + 1;
    return this.beats(socket, socket.session?.nonces.at(-1) ?? "", n)[n - 1]!;
  }

  /** Sends the next heartbeat. Returns false if a report has to follow. */
  async beat(socket: FramedSocket): Promise<boolean> {
    const text = this.nextBeat(socket);
    const answer = await answered(socket, text);
    if (answer.type !== "answer") return false;
    socket.beats.push(text);
    socket.session?.nonces.push(answer.nonce);
    return true;
  }
}

function answered({ wire }: FramedSocket, text: string): Promise<GatewayFrame> {
  const known = wire.heard.length;
  wire.text(text);
  return wire.next(known);
}
