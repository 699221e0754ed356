// Answers questions about the network: addresses, routes, listening sockets, name servers, and the way to the Worker.
import type { ParametersOf } from "../../shared/protocol/question.ts";
import { valueOr } from "../../shared/result.ts";
import { faultOf } from "../base/fault.ts";
import { readKernelFile } from "../base/reading.ts";
import { findingsText } from "../doctor/finding.ts";
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
  for (const line of findingsText(await checkWorker())
    .trimEnd()
    .split("\n"))
    yield `  ${line}`;
  yield "name servers:";
  for (const line of valueOr(readKernelFile(root, "/etc/resolv.conf"), "").split("\n"))
    if (/^(nameserver|search|options)\s/.test(line)) yield `  ${line}`;
  for (const [title, program, ...args] of PARTS) {
    yield `${title}:`;
    yield* part(program, args, asking);
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
