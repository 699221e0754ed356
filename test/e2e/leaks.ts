// Keeps every secret and every log of a whole run until its end, and finds secrets in logs: no log may contain one.
// Reads both from the folders of local clusters; tests add the secrets and logs that are in no folder.
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { randomUUID } from "node:crypto";
import { basename, join, relative } from "node:path";

export interface RunRecord {
  /** Adds a program's printed or logged text to the record. `name` names the program in a finding. */
  log: (name: string, text: string) => void;
  secret: (what: string, secret: string) => void;
  /** Adds all logs and secrets of a cluster's folder. The caller then removes the folder. */
  folder: (path: string) => void;
}

interface Secret {
  what: string;
  secret: string;
}

const SECRETS = "secrets";
const LOGS = "logs";
/** The names of folders that have neither logs nor secrets: stored objects, databases and bundles. */
const OTHER_FOLDERS = new Set(["objects", "etcd", "node_modules"]);
const MAX_BYTES = 1024 * 1024;

const isLog = (path: string) => /(^|[/.])log$/.test(path);

/** The names of files whose whole content is a secret. */
const SECRET_FILES = new Set(["admin-secret", "secret", "admin-token"]);
const PATTERNS: [what: string, pattern: RegExp][] = [
  ["join token", /rcj1_([\w-]{43})/g],
  ["machine key", /"d": ?"([\w-]{43})"/g],
  ["MAC key", /(?<=[" ])\w+:([\w-]{43})(?=[" ])/g],
  ["cluster token", /"KUBE_TOKEN", text = "([^"]+)"/g],
  ["kubeconfig's token", /^ *"?token"?: "?([\w.-]{20,})/gm],
];

function secretsIn(path: string, text: string): Secret[] {
  if (SECRET_FILES.has(basename(path))) return [{ what: basename(path), secret: text.trim() }];
  return PATTERNS.flatMap(([what, pattern]) =>
    [...text.matchAll(pattern)].map(([, secret = ""]) => ({ what, secret })),
  );
}

/** Returns all secrets that the files of a cluster's folder contain. */
export function secretsOf(folder: string): Secret[] {
  const files = filesIn(folder).filter((file) => !isLog(file));
  return files.flatMap((file) => secretsIn(file, readFileSync(file, "utf8")));
}

/** Returns a record that writes to this folder; the folder belongs to this run alone. */
export function runRecord(folder: string): RunRecord {
  mkdirSync(join(folder, LOGS), { recursive: true });
  const record: RunRecord = {
    log: (name, text) =>
      writeFileSync(join(folder, LOGS, `${randomUUID()} ${name.replaceAll("/", " ")}`), text),
    secret: (what, secret) =>
      appendFileSync(join(folder, SECRETS), `${JSON.stringify({ what, secret } satisfies Secret)}\n`),
    folder(path) {
      for (const { what, secret } of secretsOf(path)) record.secret(what, secret);
      for (const file of filesIn(path).filter(isLog))
        record.log(`${basename(path)} ${relative(path, file)}`, readFileSync(file, "utf8"));
    },
  };
  return record;
}

/**
 * Returns a line for each secret found in a log, such as `a secret (join token) is in the log rollcall-e2e-x logs
 * shim.log`. The line does not contain the secret itself.
 */
export function leaksOf(folder: string): string[] {
  if (!existsSync(join(folder, SECRETS))) return [];
  const lines = readFileSync(join(folder, SECRETS), "utf8").trimEnd().split("\n");
  const secrets = [...new Set(lines)].map((line) => JSON.parse(line) as Secret);
  return readdirSync(join(folder, LOGS)).flatMap((log) => {
    const text = readFileSync(join(folder, LOGS, log), "utf8");
    const leaked = secrets.filter(({ secret }) => text.includes(secret));
    return leaked.map(({ what }) => `a secret (${what}) is in the log ${log.slice(log.indexOf(" ") + 1)}`);
  });
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return OTHER_FOLDERS.has(entry.name) ? [] : filesIn(path);
    return entry.isFile() && (isLog(path) || statSync(path).size <= MAX_BYTES) ? [path] : [];
  });
}
