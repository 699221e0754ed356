// Sends HTTP requests to the Worker over one kept-alive connection of node:http(s): a fifth less memory than fetch.
import { type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { ANSWER_UNTIL, WORKER_TIME } from "../../shared/protocol/answer-until.ts";
import { abortAfter, wallMs } from "../base/clock.ts";
import { agentTo, connectionFault, DIRECTLY, lateText, type Outbound } from "./outbound.ts";
import {
  LateAnswer,
  MAX_ANSWER_BYTES,
  retryAfterMs,
  type Transport,
  type TransportRequest,
  type TransportResponse,
} from "./exchange.ts";
import { lateProxy } from "./tunnel.ts";

/** The result of one attempt. `wasIdle` is true if a kept-alive connection was closed before any byte of the answer. */
type Attempt = { answer: TransportResponse } | { failed: string; isLate: boolean; wasIdle: boolean };

/**
 * Makes the HTTP transport. Call `close` after a failure, to drop the connection, which may be stuck. `until` returns the
 * header of AnswerUntil.
 */
export function httpTransport(
  origin: string,
  deadlineMs: number,
  outbound: Outbound = DIRECTLY,
): { send: Transport; close: () => void; until: () => Record<string, string> } {
  const secure = origin.startsWith("https:");
  const { proxy } = outbound;
  const makeAgent = () => agentTo(origin, outbound, deadlineMs);
  let agent = makeAgent();
  const until = new AnswerUntil(deadlineMs, wallMs);

  const attempt = ({ method, path, headers, body }: TransportRequest) =>
    new Promise<Attempt>((resolve) => {
      const signal = abortAfter(deadlineMs);
      const mine = agent;
      const sentMs = wallMs();
      const start = secure ? httpsRequest : httpRequest;
      const options = {
        method,
        agent: mine,
        headers: { ...headers, ...until.headers(), "content-length": Buffer.byteLength(body) },
        signal,
      };
      const failed = (error: Error, wasIdle: boolean) => {
        const late =
          proxy && !request.socket ? lateProxy(proxy, deadlineMs) : new Error(lateText(deadlineMs));
        const isLate = signal.aborted;
        resolve({ failed: connectionFault(isLate ? late : error, proxy), isLate, wasIdle });
      };
      const request = start(new URL(path, origin), options, (response) => {
        void readAnswer(response).then(
          (answer) => {
            until.answered(sentMs, answer.status, response.headers[WORKER_TIME]);
            resolve({ answer });
          },
          (error: Error) => failed(error, false),
        );
      });
      request.on("error", (error) => failed(error, request.reusedSocket && isReset(error) && mine === agent));
      request.end(body);
    });

  const send: Transport = async (request) => {
    const first = await attempt(request);
    // Sends the request again if the Worker has closed an idle connection: every request is safe to repeat.
    const last = "failed" in first && first.wasIdle ? await attempt(request) : first;
    if ("failed" in last) throw new (last.isLate ? LateAnswer : Error)(last.failed);
    return last.answer;
  };

  const close = () => {
    agent.destroy();
    agent = makeAgent();
  };
  return { send, close, until: () => until.headers() };
}

const isReset = (error: Error) =>
  ["ECONNRESET", "EPIPE"].includes((error as NodeJS.ErrnoException).code ?? "");

function readAnswer(response: IncomingMessage): Promise<TransportResponse> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    response.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > MAX_ANSWER_BYTES)
        response.destroy(new Error("the answer is larger than any of the protocol"));
      else chunks.push(chunk);
    });
    response.on("error", reject);
    response.on("end", () => {
      const waitMs = retryAfterMs(response.headers["retry-after"]);
      resolve({
        status: response.statusCode ?? 0,
        body: Buffer.concat(chunks).toString(),
        ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }),
      });
    });
  });
}

/** The most by which this machine's clock may differ from the Worker's. */
const SKEW_MS = 2000;
/** Each third request of a machine that is refused has no header: a slow network would delay each request too long. */
const REFUSALS = 3;

/** Makes the header that states until when this machine waits for an answer. */
export class AnswerUntil {
  readonly #deadlineMs: number;
  readonly #nowMs: () => number;
  /** true if the last answer's time agreed with this machine's clock. A false clock would cost answers. */
  #isAgreed = false;
  /** The number of 503s in a row. */
  #refusals = 0;

  /** `deadlineMs`: the time for which this machine waits for an answer. `nowMs`: typically wallMs. */
  constructor(deadlineMs: number, nowMs: () => number) {
    this.#deadlineMs = deadlineMs;
    this.#nowMs = nowMs;
  }

  /** Returns the headers of a request that is sent now. */
  headers(): Record<string, string> {
    const isSent = this.#isAgreed && this.#refusals % REFUSALS !== REFUSALS - 1;
    return isSent ? { [ANSWER_UNTIL]: String(this.#nowMs() + this.#deadlineMs) } : {};
  }

  /** Must be called with each answer. `sentMs`: the time of the request. `workerTime`: the answer's WORKER_TIME. */
  answered(sentMs: number, status: number, workerTime: string | string[] | undefined): void {
    this.#refusals = status === 503 ? this.#refusals + 1 : 0;
    const workerMs = Number(workerTime);
    this.#isAgreed = workerMs >= sentMs - SKEW_MS && workerMs <= this.#nowMs() + SKEW_MS;
  }
}
