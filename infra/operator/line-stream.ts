// Sends a request whose answer comes line by line while the Worker has it, and reads each line at once.
import { request as requestHttp, type IncomingMessage } from "node:http";
import { request as requestHttps } from "node:https";
import { after } from "../../node-shim/base/clock.ts";
import { networkFault } from "../../node-shim/base/network-fault.ts";
import { type Result, success } from "../../shared/result.ts";
import { DEADLINE_MS, lateText, type OperatorRequest, refusalOf, type WorkerConnection } from "./client.ts";
import { fault, type OperatorFault } from "./fault.ts";

/** The longest wait for the next bytes: the Worker sends an empty line at least every few seconds. */
const QUIET_MS = 20_000;
/** The most characters of a line, or of a refusal. */
const MOST_CHARACTERS = 1024 * 1024;

/** Sends a request, and calls `take` with each line that is not empty. Fails if the answer is a refusal, or breaks off. */
export async function askLines(
  { url, headers, withinMs = DEADLINE_MS }: WorkerConnection,
  request: OperatorRequest,
  take: (line: string) => void,
): Promise<Result<null, OperatorFault>> {
  const { method, path, body } = request;
  const abort = new AbortController();
  let quietMs = withinMs;
  const late = () => abort.abort(new Error(lateText(quietMs)));
  let cancel = quietMs === Infinity ? () => undefined : after(quietMs, late);
  const heard = () => {
    cancel();
    quietMs = QUIET_MS;
    cancel = after(quietMs, late);
  };
  try {
    const sent = {
      method,
      headers: { ...headers, "content-type": "application/json" },
      signal: abort.signal,
    };
    const response = await responseTo(url + path, sent, JSON.stringify(body));
    heard();
    const { statusCode: status = 0 } = response;
    let rest = "";
    for await (const chunk of response.setEncoding("utf8") as AsyncIterable<string>) {
      heard();
      rest += chunk;
      if (status < 300) rest = takeLines(rest, take);
      if (rest.length > MOST_CHARACTERS)
        return fault("failed", `${url} sends a line without end: is it a rollcall Worker?`);
    }
    return status < 300 ? success(null) : refusalOf(url, request, status, rest);
  } catch (error) {
    const why = abort.signal.aborted ? (abort.signal.reason as Error) : error;
    return fault("unreachable", `${url} cannot be reached: ${networkFault(why)}`);
  } finally {
    cancel();
  }
}

/** Takes the whole lines of a text. Returns the text after the last line break. */
function takeLines(text: string, take: (line: string) => void): string {
  const lines = text.split("\n");
  const rest = lines.pop() ?? "";
  for (const line of lines) if (line !== "") take(line);
  return rest;
}

/** Sends a request by node:http, for the reasons of client.ts. Resolves with the head of the answer. */
function responseTo(
  url: string,
  options: { method: string; headers: Record<string, string>; signal: AbortSignal },
  body: string,
): Promise<IncomingMessage> {
  const send = url.startsWith("https:") ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    send(url, options, resolve).on("error", reject).end(body);
  });
}
