// Checks this machine's identity: join token, enrolment, and the state folder's permissions.
import { accessSync, constants, existsSync, type Stats, statSync } from "node:fs";
import { join } from "node:path";
import { codeOf, faultOf } from "../base/fault.ts";
import { loadEnrolment, loadKey, storedPending } from "../identity/identity.ts";
import { readJoinToken } from "../identity/join-token.ts";
import { joinTokenFault } from "../identity/join-token.ts";
import { readIfThere, requireTrusted, writeProbe } from "../base/state-file.ts";
import { fail, type Finding, ok, warn } from "./finding.ts";

export interface IdentityFlags {
  state: string;
  joinTokenFile?: string;
}

export async function checkIdentity(
  flags: IdentityFlags,
  name: string,
  environment: NodeJS.ProcessEnv,
): Promise<Finding[]> {
  const folder = await checkFolder(flags.state);
  const enrolment = await checkEnrolment(flags.state, name);
  return [
    (folder.level === "ok" && storedToken(flags.state)) ||
      (await checkToken(flags, environment, enrolment.level === "ok")),
    folder,
    ...(folder.level === "fail" ? [] : [enrolment]),
  ];
}

/** Returns the finding of a machine that waits for an operator's approval; null for other machines. */
const storedToken = (state: string) =>
  storedPending(state) && ok("join token", "stored in the state folder until this machine is enrolled");

async function checkToken(
  { joinTokenFile }: IdentityFlags,
  environment: NodeJS.ProcessEnv,
  isEnrolled: boolean,
): Promise<Finding> {
  if (joinTokenFile === undefined && !environment["ROLLCALL_JOIN_TOKEN"])
    return isEnrolled
      ? ok("join token", "none given, none needed: this machine is enrolled")
      : warn("join token", "none given", "pass --join-token-file, or set ROLLCALL_JOIN_TOKEN, to check it");
  let shared = "";
  const note = (message: string) => (shared = message);
  try {
    const fault = joinTokenFault(await readJoinToken(joinTokenFile, note, environment));
    if (fault !== null)
      return fail("join token", fault, "copy it again, or ask your operator for another one");
  } catch (error) {
    // The service's flags may name a join token's file that the operator removed after the enrolment.
    if (isEnrolled) return ok("join token", "cannot be read, and is not needed: this machine is enrolled");
    return fail("join token", faultOf(error), "let the user who runs the shim read the file");
  }
  if (shared !== "") return warn("join token", shared, "let only the user who runs the shim read the file");
  return ok("join token", "well formed; only an enrolment shows whether it is still valid");
}

const TRUST = "first check its files: a user who may write there may have put another machine's key there";

/** Checks that no other user can read the state folder: its key and enrolment suffice to report as this machine. */
async function checkFolder(folder: string): Promise<Finding> {
  try {
    requireTrusted(folder);
  } catch (error) {
    return fail("state folder", faultOf(error), TRUST);
  }
  let stats: Stats;
  try {
    stats = statSync(folder);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return ok("state folder", `${folder} is not there yet: join makes it`);
    return fail(
      "state folder",
      `${folder} cannot be read (${codeOf(error)})`,
      "run as root, or pass --state",
    );
  }
  if (!stats.isDirectory())
    return fail("state folder", `${folder} is no folder`, "remove it, or pass another --state");
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    if ((await writeProbe(folder)()) !== null) return unwritable(folder, codeOf(error));
    return fail(
      "state folder",
      `${folder} cannot be written (${codeOf(error)})`,
      "run as root or as its owner, see that its file system is not read-only, or pass another --state",
    );
  }
  for (const path of [
    folder,
    join(folder, "key.json"),
    join(folder, "enrolment.json"),
    join(folder, "pending.json"),
  ]) {
    const mode = modeOf(path);
    if (mode !== null && (mode & 0o077) !== 0)
      return fail(
        "state folder",
        `others may use ${path} (mode ${mode.toString(8)})`,
        `chmod go= ${path}; if another user may have read the key: leave, and join again`,
      );
  }
  const fault = await writeProbe(folder)();
  return fault === null ? ok("state folder", `${folder}${holderOf(folder)}`) : unwritable(folder, fault);
}

/** Returns the finding of a file system that cannot be written. Only a new key needs a write. */
function unwritable(folder: string, fault: string): Finding {
  const hasKey = existsSync(join(folder, "key.json"));
  return (hasKey ? warn : fail)(
    "state folder",
    `${folder} cannot be written (${fault})${hasKey ? ": the shim reports, but stores nothing" : ": no key can be stored"}`,
    "free space and inodes there, or make the file system writable",
  );
}

function modeOf(path: string): number | null {
  return (statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o777 || null;
}

/** Returns text that names the process whose lock is on the folder; "" if there is no lock. */
function holderOf(folder: string): string {
  try {
    const holder = readIfThere(join(folder, "lock"));
    return holder === null ? "" : `, in use by process ${holder.split(" ")[0]}`;
  } catch {
    return "";
  }
}

async function checkEnrolment(state: string, name: string): Promise<Finding> {
  try {
    const key = await loadKey(state);
    const enrolment = key && loadEnrolment(state, { name, thumbprint: key.thumbprint });
    if (!enrolment && storedPending(state))
      return warn(
        "enrolment",
        `${name} waits for an operator's approval`,
        "after the approval the service enrols this machine, without a second join",
      );
    if (!enrolment)
      return warn("enrolment", `${name} is not enrolled`, "node-shim join --url https://HOST ...");
    return ok("enrolment", `${name}, key ${enrolment.thumbprint}`);
  } catch (error) {
    return fail("enrolment", faultOf(error), "the state folder holds what makes this machine itself");
  }
}
