// Shows notices above a list: without the line about mutes, an operator would wait for alerts that do not come.
import { activeMutes, mutesText } from "../../../shared/fleet/active-mutes.ts";
import { printable } from "../../../shared/protocol/printable.ts";
import { mutesSchema } from "../../../shared/protocol/receiver-answers.ts";
import { answer, connect, formatOf, type Show, viewOf } from "../answer.ts";
import { ask, type OperatorRequest, readAnswer, type WorkerConnection } from "../client.ts";
import type { OperatorProgram } from "../operator-program.ts";
import { painted, wrapped } from "../render/terminal.ts";

/** Returns true if the output is a text for people. */
export const isForPeople = (program: OperatorProgram): boolean =>
  ["", "wide"].includes(formatOf(program) ?? "");

/** Renders the lines of a notice as wide as the screen, with a blank line below. */
export function noticeText(program: OperatorProgram, lines: readonly string[]): string {
  const { screen } = viewOf(program);
  const fitting = lines.flatMap((line) => wrapped(printable(line), screen.columns ?? Infinity));
  return `${fitting.map((line) => painted(line, "yellow", screen)).join("\n")}\n\n`;
}

/** Returns the line above a text for people, with a blank line; "" if no mute is on, and for other formats. */
export async function mutesNotice(program: OperatorProgram, connection: WorkerConnection): Promise<string> {
  if (!isForPeople(program)) return "";
  const sent = await ask(connection, { method: "GET", path: "/v1/mutes" });
  const answer = sent.ok ? readAnswer(mutesSchema, sent.value) : sent;
  const mutes = answer.ok ? activeMutes(answer.value.mutes, viewOf(program).nowMs) : null;
  return mutes ? noticeText(program, [`Muted: ${mutesText(mutes)}.`]) : "";
}

/** Sends a request, and prints the answer below the line about mutes. */
export async function answerBelowMutes(
  program: OperatorProgram,
  request: OperatorRequest,
  show: Show,
): Promise<void> {
  const connection = connect(program);
  const notice = connection.ok ? await mutesNotice(program, connection.value) : "";
  return answer(program, request, (sent) => {
    const below = show(sent);
    if (below.ok) program.surroundings.process.stdout.write(notice);
    return below;
  });
}
