// Runs rollcall page and sessions …: prints the link that signs a browser in, and manages the signed-in browsers.
import { spawn } from "node:child_process";
import { Argument } from "commander";
import { after } from "../../node-shim/base/clock.ts";
import {
  type ListedSession,
  sessionCodeSchema,
  sessionsSchema,
} from "../../shared/protocol/administration-answers.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { answer, connect, done, fail, formatOf, print, shown } from "./answer.ts";
import { ask, readAnswer } from "./client.ts";
import type { OperatorProgram } from "./operator-program.ts";
import { listOf, textOf } from "./render/shown.ts";
import type { TableColumn } from "./render/table.ts";

const PAGE_HELP = `
Examples:
  rollcall page --open
  open "$(rollcall page)"

The first browser that opens the link is signed in as you: give the link to no one else. A session ends after 12 hours, when
your secret is revoked, or by rollcall sessions revoke.`;

const SESSIONS_HELP = `
Examples:
  rollcall page
  rollcall sessions list
  rollcall sessions revoke 3q2-7wAAAAAAAAAAAAAAAA`;

const COLUMNS: readonly TableColumn<ListedSession>[] = [
  { head: "ID", of: ({ id }) => id, rank: 0 },
  { head: "WHO", of: ({ who }) => who, rank: 0 },
  { head: "ROLE", of: ({ role }) => role, rank: 1 },
  { head: "CREATED", of: ({ createdAt }) => createdAt, rank: 3 },
  { head: "EXPIRES", of: ({ expiresAt }) => expiresAt, rank: 4 },
  { head: "ADDRESS", of: ({ address }) => address, rank: 2 },
  { head: "BROWSER", of: ({ browser }) => browser, rank: 5, least: 16 },
];

/** Adds the commands. `openIn` opens a link in a browser, typically with openLink. */
export function sessionCommands(program: OperatorProgram, openIn = openLink): void {
  pageCommand(program, openIn);
  const sessions = program
    .command("sessions")
    .description("Sessions: the browsers that are signed in.")
    .addHelpText("after", SESSIONS_HELP);
  sessions
    .command("list")
    .description("List operators' sessions in browsers, newest first.")
    .action(() =>
      answer(
        program,
        { method: "GET", path: "/v1/sessions" },
        shown(sessionsSchema, (sent) =>
          listOf(sent.sessions, () => COLUMNS, {
            nameOf: ({ id }) => id,
            ...(sent.sessions.length === 0 && { above: () => "no sessions\n" }),
          }),
        ),
      ),
    );
  sessions
    .command("revoke")
    .addArgument(new Argument("<session>", "the session's ID"))
    .description("End a session in a browser. The Worker refuses the session everywhere within 10 seconds.")
    .action((id: string) =>
      answer(
        program,
        {
          method: "DELETE",
          path: `/v1/sessions/${encodeURIComponent(id)}`,
          missing: `no session ${id}`,
        },
        done(`session ${id} is revoked`),
      ),
    );
}

function pageCommand(program: OperatorProgram, openIn: typeof openLink): void {
  program
    .command("page")
    .description(
      "Print a link that opens the page and signs the browser in. The link works once, within 10 minutes.",
    )
    .option("--open", "open the link in your browser as well")
    .addHelpText("after", PAGE_HELP)
    .action(async ({ open }: { open?: true }) => {
      const connection = connect(program);
      if (!connection.ok) return fail(program, connection.error);
      const sent = await ask(connection.value, { method: "POST", path: "/v1/session/codes" });
      const made = sent.ok ? readAnswer(sessionCodeSchema, sent.value) : sent;
      if (!made.ok) return fail(program, made.error);
      const { code, expiresAt } = made.value;
      const link = pageLink(connection.value.url, code);
      await print(program, () => success(textOf(() => `${link}\n`)), { link, code, expiresAt });
      const { process } = program.surroundings;
      // stdout has only the link, for `open "$(rollcall page)"`.
      if (formatOf(program) === undefined) process.stderr.write(`valid once, until ${expiresAt}\n`);
      const opened = open ? await openIn(link) : success(null);
      if (!opened.ok) fail(program, { reason: "failed", message: opened.error });
    });
}

/** Returns the link that signs a browser in. Browsers send no fragment, so that no log contains the code. */
export const pageLink = (url: string, code: string) => `${url}/#code=${code}`;

/** The command before the link, by Node.js's name of the system. */
const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

/** The wait for a failure of the program. On some systems the program runs until the browser ends. */
const FAILS_WITHIN_MS = 3000;

/** Opens a link in the operator's browser. Returns an error if the system's program is missing or fails. */
function openLink(link: string): Promise<Result<null>> {
  const [program = "", ...args] = OPENERS[process.platform] ?? ["xdg-open"];
  return new Promise((resolve) => {
    const child = spawn(program, [...args, link], { stdio: "ignore", detached: true });
    child.unref();
    const cancel = after(FAILS_WITHIN_MS, () => resolve(success(null)));
    const end = (isOpen: boolean) => {
      cancel();
      resolve(isOpen ? success(null) : failure(`${program} opens no browser here: copy the link into one`));
    };
    child.once("error", () => end(false));
    child.once("exit", (code) => end(code === 0));
  });
}
