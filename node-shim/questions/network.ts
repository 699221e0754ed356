// Answers questions about the network: addresses, routes, listening sockets, name servers, and the way to the Worker.
import type { ParametersOf } from "../../shared/protocol/question.ts";
import { valueOr } from "../../shared/result.ts";
import { faultOf } from "../base/fault.ts";
import { readKernelFile } from "../base/reading.ts";
import { findingsLines } from "../doctor/finding.ts";
import type { Asking, Source } from "./source.ts";

/** The programs of iproute2 with the title of each part. */
const PARTS: readonly (readonly [title: string, program: string, ...args: string[]])[] = [
  ["addresses", "ip", "address", "show"],
  ["errors of links", "ip", "-s", "link", "show"],
  ["routes", "ip", "route", "show"],
  ["routes of IPv6", "ip", "-6", "route", "show"],
  ["listening sockets", "ss", "-H", "-t", "-u", "-l", "-n", "-p"],
];

export const network: Source<ParametersOf<"network">> = async function* (_, asking) {
  const { root, checkWorker } = asking;
  yield "the Worker:";
  for (const line of findingsLines(await checkWorker())) yield `  ${line}`;
  yield "name servers:";
  for (const line of valueOr(readKernelFile(root, "/etc/resolv.conf"), "").split("\n"))
    if (/^(nameserver|search|options)\s/.test(line)) yield `  ${line}`;
  for (const [title, program, ...args] of PARTS) {
    yield `${title}:`;
    const lines = part(program, args, asking);
    yield* program === "ss" ? wholeSockets(lines) : lines;
  }
};

/** Yields a program's lines. A part that fails must not keep the others from the answer. */
async function* part(
  program: string,
  args: readonly string[],
  { run, signal }: Asking,
): AsyncGenerator<string> {
  try {
    for await (const line of run(program, args, { signal })) yield `  ${line}`;
  } catch (error) {
    yield `  ${faultOf(error)}`;
  }
}

/** A line of ss. The name of a process has up to 15 characters, also line breaks: too few to forge a line. */
const SOCKET = /^ {2}(?:tcp|udp)\s+(?:LISTEN|UNCONN)\s+\d+\s+\d+\s+\S+:\S+\s+\S+:\S+(?:\s|$)/;

/** Joins the lines of one socket, whose processes may have line breaks in their names. */
async function* wholeSockets(lines: AsyncIterable<string>): AsyncGenerator<string> {
  let whole: string | null = null;
  for await (const line of lines) {
    if (whole !== null && SOCKET.test(line)) {
      yield whole;
      whole = line;
    } else whole = whole === null ? line : `${whole}\n${line.slice(2)}`;
  }
  if (whole !== null) yield whole;
}
