// Runs a machine on a socket for the Worker's tests, with real keys and real frames that are sent when a test asks.
// It may send frames that no shim would send.
import { base64url, SignJWT } from "jose";
import { type GatewayFrame, heartbeatText, sessionInfo } from "../../../shared/protocol/frames.ts";
import { canonicalJson } from "../../../shared/protocol/digest.ts";
import type { ReportAnswer } from "../../../shared/protocol/answers.ts";
import { JWT_TYPES } from "../../../shared/protocol/claims.ts";
import type { Facts } from "../../../shared/protocol/facts.ts";
import { SIGNALS, type Vitals } from "../../../shared/protocol/report.ts";
import { sha256Base64url } from "../../../node-shim/worker-link/sign.ts";
import { ORIGIN } from "./constants.ts";
import { type EnrolledMachine, facts, HEALTHY, send } from "./machine.ts";

const X25519 = { name: "X25519" };

type ReportAnswerFrame = Extract<GatewayFrame, { type: "report-answer" }>;

interface SocketSession {
  key: CryptoKey;
  /** The bytes of the key. */
  raw: Uint8Array;
  nonce: string;
  n: number;
}

/** The differences from a valid heartbeat. */
export interface BeatWish {
  vitals?: Vitals;
  n?: number;
  nonce?: string;
  /** The machine's time, in milliseconds since 1970. */
  at?: number;
  /** The session that signs the heartbeat, in place of the socket's own. */
  session?: SocketSession;
}

export interface ReportWish {
  vitals?: Vitals;
  facts?: Facts;
  withFacts?: boolean;
  ticket?: string;
  n?: number;
  startId?: string;
}

interface AnsweredReport {
  status: number;
  answer: ReportAnswer & { reason?: string };
}

/** A machine that reports under tickets, over HTTP or a socket. Its tickets belong to one process. */
export class SocketMachine {
  readonly machine: EnrolledMachine;
  readonly startId: string;
  ticket: string;
  n = 0;
  /** The path of the machine's socket, from the last answer over HTTP. */
  path = "";
  readonly #known = new Set<string>();

  constructor(machine: EnrolledMachine, startId = "start-1") {
    this.machine = machine;
    this.startId = startId;
    this.ticket = machine.ticket;
  }

  /** Returns a copy of the machine's memory. */
  copy(): SocketMachine {
    const { machine, startId, ticket, n, path } = this;
    const copy = new SocketMachine(machine, startId);
    for (const digest of this.#known) copy.#known.add(digest);
    return Object.assign(copy, { ticket, n, path });
  }

  /** Returns the JWT and the body of the machine's next report. */
  async signed(wish: ReportWish = {}, session?: string): Promise<{ token: string; body: string }> {
    const { name, key, kid } = this.machine;
    const told = wish.facts ?? facts(name);
    const factsDigest = sha256Base64url(canonicalJson(told));
    const withFacts = wish.withFacts ?? !this.#known.has(factsDigest);
    this.#known.add(factsDigest);
    const body = JSON.stringify({
      protocol: 1,
      startId: wish.startId ?? this.startId,
      machineTime: new Date(Date.now()).toISOString(),
      vitals: wish.vitals ?? HEALTHY,
      factsDigest,
      ...(withFacts && { facts: told }),
    });
    const ticket = wish.ticket ?? this.ticket;
    const n = wish.n ?? ++this.n;
    const claims = {
      sub: name,
      aud: ORIGIN,
      body: sha256Base64url(body),
      ticket,
      n,
      ...(session !== undefined && { session }),
    };
    const header = { alg: "EdDSA", typ: JWT_TYPES.report, kid };
    return { token: await new SignJWT(claims).setProtectedHeader(header).sign(key.signing), body };
  }

  /** Stores the ticket and the socket's path from an answer. */
  took(answer: { ticket?: string; socket?: { path: string } }): void {
    if (answer.ticket && answer.ticket !== this.ticket) {
      this.ticket = answer.ticket;
      this.n = 0;
    }
    if (answer.socket) this.path = answer.socket.path;
  }

  /** Sends a report over HTTP, and answers challenges. */
  async http(wish: ReportWish = {}): Promise<AnsweredReport> {
    const answered = await this.post(await this.signed(wish));
    const isChallenged = answered.status === 409 || answered.status === 412;
    return isChallenged ? this.http({ ...wish, withFacts: true }) : answered;
  }

  /** Sends a signed report over HTTP. */
  async post({ token, body }: { token: string; body: string }): Promise<AnsweredReport> {
    const headers = {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      "rollcall-transport": "socket",
    };
    const response = await send(`/v1/nodes/${this.machine.name}/report`, { method: "POST", headers, body });
    const answer = await response.json<AnsweredReport["answer"]>();
    this.took(answer);
    return { status: response.status, answer };
  }

  /** Opens a socket at the path of the last answer. */
  async connect(path = this.path): Promise<OpenSocket> {
    const { name, key, kid } = this.machine;
    const pair = (await crypto.subtle.generateKey(X25519, true, ["deriveBits"])) as CryptoKeyPair;
    const raw = (await crypto.subtle.exportKey("raw", pair.publicKey)) as ArrayBuffer;
    const session = base64url.encode(new Uint8Array(raw));
    const { pathname } = new URL(path, ORIGIN);
    const claims = { sub: name, aud: ORIGIN, method: "GET", path: pathname, session };
    const header = { alg: "EdDSA", typ: JWT_TYPES.connect, kid, jwk: key.publicJwk };
    const jwt = await new SignJWT(claims).setProtectedHeader(header).sign(key.signing);
    const headers = { upgrade: "websocket", authorization: `Bearer ${jwt}` };
    const response = await send(path, { method: "GET", headers });
    if (!response.webSocket) throw new Error(`no socket: ${response.status} ${await response.text()}`);
    return new OpenSocket(this, response.webSocket, { session, privateKey: pair.privateKey });
  }
}

/** A machine's end of a socket, which sends frames as a test asks and keeps the received ones. */
export class OpenSocket {
  readonly #of: SocketMachine;
  readonly #socket: WebSocket;
  readonly #keys: { session: string; privateKey: CryptoKey };
  readonly frames: GatewayFrame[] = [];
  closed: { code: number; reason: string } | null = null;
  /** The type of frames that `next` skips; null to skip none. */
  passesOver: GatewayFrame["type"] | null = null;
  /** Takes a frame at once. Returns false for a frame that waits for `next`. */
  takes: (frame: GatewayFrame) => boolean = () => false;
  session: SocketSession | null = null;
  /** The key for questions of a machine without a session. */
  asking: SocketSession | null = null;
  #waiting: (() => void)[] = [];
  #read = 0;

  constructor(of: SocketMachine, socket: WebSocket, keys: { session: string; privateKey: CryptoKey }) {
    this.#of = of;
    this.#socket = socket;
    this.#keys = keys;
    socket.addEventListener("message", ({ data }) => {
      const frame = JSON.parse(data as string) as GatewayFrame;
      if (this.takes(frame)) return;
      this.frames.push(frame);
      this.#wake();
    });
    socket.addEventListener("close", ({ code, reason }) => {
      this.closed = { code, reason };
      this.#wake();
    });
    socket.accept();
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** Returns the next unread frame; "closed" if no frame is left. */
  async next(): Promise<GatewayFrame | "closed"> {
    for (;;) {
      const frame = this.frames[this.#read];
      if (frame) {
        this.#read++;
        if (frame.type === this.passesOver) continue;
        return frame;
      }
      if (this.closed) return "closed";
      await new Promise<void>((resolve) => void this.#waiting.push(resolve));
    }
  }

  sendText(text: string): void {
    this.#socket.send(text);
  }

  sendBytes(bytes: Uint8Array): void {
    this.#socket.send(bytes);
  }

  close(code = 1000): void {
    this.#socket.close(code);
  }

  /** Sends a full report and returns its answer. Repeats the report after a challenge. */
  async report(wish: ReportWish = {}): Promise<ReportAnswerFrame> {
    this.sendText(await this.reportFrame(wish));
    const frame = await this.answered();
    const isChallenged = frame.status === 409 || frame.status === 412;
    return isChallenged ? this.report({ ...wish, withFacts: true }) : frame;
  }

  /** Returns the frame of a report. */
  async reportFrame(wish: ReportWish = {}): Promise<string> {
    return JSON.stringify({ type: "report", ...(await this.signed(wish)) });
  }

  /** Returns the JWT and the body of a report over this socket. */
  signed(wish: ReportWish = {}): ReturnType<SocketMachine["signed"]> {
    return this.#of.signed(wish, this.#keys.session);
  }

  /** Returns the answer to a report, and begins the session that it opens. */
  async answered(): Promise<ReportAnswerFrame> {
    const frame = await this.next();
    if (frame === "closed" || frame.type !== "report-answer")
      throw new Error(`no answer to a report: ${JSON.stringify(frame)}`);
    this.#of.took(frame.body);
    this.session = frame.session ? await this.#agreed(frame.session) : null;
    this.asking = frame.asking ? await this.#agreed({ key: frame.asking, nonce: "" }) : null;
    return frame;
  }

  async #agreed({ key, nonce }: { key: string; nonce: string }): Promise<SocketSession> {
    const theirs = await crypto.subtle.importKey(
      "raw",
      new Uint8Array(base64url.decode(key)),
      X25519,
      false,
      [],
    );
    const algorithm = { ...X25519, public: theirs } as SubtleCryptoDeriveKeyAlgorithm;
    const secret = await crypto.subtle.deriveBits(algorithm, this.#keys.privateKey, 256);
    const shared = await crypto.subtle.importKey("raw", secret, "HKDF", false, ["deriveBits"]);
    const text = sessionInfo(this.#of.machine.name, this.#keys.session, key);
    const hkdf = {
      name: "HKDF",
      hash: "SHA-256",
      salt: new Uint8Array(0),
      info: new TextEncoder().encode(text),
    };
    const bits = await crypto.subtle.deriveBits(hkdf, shared, 256);
    const mac = await crypto.subtle.importKey("raw", bits, { name: "HMAC", hash: "SHA-256" }, false, [
      "sign",
    ]);
    return { key: mac, raw: new Uint8Array(bits), nonce, n: 0 };
  }

  /** Returns the frame of the next heartbeat. */
  async heartbeat(wish: BeatWish = {}): Promise<string> {
    const session = wish.session ?? this.session;
    if (!session) throw new Error("there is no session");
    const { signals, remainingSeconds } = wish.vitals ?? HEALTHY;
    const payload = JSON.stringify({
      type: "heartbeat",
      n: wish.n ?? session.n + 1,
      at: wish.at ?? Date.now(),
      available: SIGNALS.map((name) => signals[name]?.[0] ?? null),
      ...(remainingSeconds && { remainingSeconds }),
    });
    const text = new TextEncoder().encode(heartbeatText(wish.nonce ?? session.nonce, payload));
    const mac = new Uint8Array(await crypto.subtle.sign("HMAC", session.key, text));
    return `${payload}\n${base64url.encode(mac.subarray(0, 16))}`;
  }

  /** Sends a heartbeat and returns the next frame: an answer, `again`, or the close. */
  async beat(wish: BeatWish = {}): Promise<GatewayFrame | "closed"> {
    this.sendText(await this.heartbeat(wish));
    const frame = await this.next();
    if (frame !== "closed" && frame.type === "answer" && this.session) {
      this.session.n = frame.n;
      this.session.nonce = frame.nonce;
    }
    return frame;
  }
}
