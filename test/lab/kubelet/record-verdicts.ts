// Records in verdicts.json which of configurations.ts the kubelet of KUBEBUILDER_ASSETS accepts, by the kubelet's release
// (`npm run kubelet-verdicts -- [TEXT | --missing]`): all, those with TEXT in their name, or those without a verdict of the
// release. Runs as root, with a containerd of its own; the computer is unchanged afterwards.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../../infra/local/ports.ts";
import { stopProgram } from "../../infra/local/started-apiserver.ts";
import { containerd } from "../../node-shim/sources/cri/containerd.ts";
import { type Configuration, CONFIGURATIONS, fileOf } from "./configurations.ts";
import { notePutBack } from "./put-back.ts";
import { missingForKubelet } from "./real-kubelet.ts";

const VERDICTS = join(import.meta.dirname, "verdicts.json");

/** The verdicts on one configuration, by release: an error, or null if the release's kubelet accepts the configuration. */
type Verdicts = Record<string, string | null>;

/** The text that a kubelet logs once its whole configuration is active. */
const STARTED = "Starting Kubelet Plugin Manager";
const WITHIN_MS = 20_000;

/** Runs the kubelet with a configuration. Returns null if the kubelet accepts it, else the kubelet's error. */
async function verdict(
  configuration: Configuration,
  kubelet: string,
  folder: string,
  socket: string,
): Promise<string | null> {
  // Each kubelet has a root folder of its own: it stores its configuration there, and mounts the folder over
  // itself.
  const root = mkdtempSync(join(folder, "root-"));
  const config = join(folder, "kubelet.yaml");
  writeFileSync(config, fileOf(configuration, socket, await freePort()));
  const logFile = join(folder, "log");
  const log = openSync(logFile, "w");
  const args = [
    "--config",
    config,
    "--root-dir",
    root,
    "--cert-dir",
    join(folder, "pki"),
    ...configuration.flags,
  ];
  const child = spawn(kubelet, args, { stdio: ["ignore", log, log] });
  closeSync(log);
  const text = () => readFileSync(logFile, "utf8");
  try {
    const endsAt = performance.now() + WITHIN_MS;
    while (!hasEnded(child)) {
      if (text().includes(STARTED)) return null;
      if (performance.now() > endsAt)
        throw new Error(`${configuration.name}: neither started nor ended:\n${text()}`);
      await new Promise((resolve) => void setTimeout(resolve, 20));
    }
    return errorOf(text());
  } finally {
    await stopProgram(child);
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** Returns the last line about a failure, without the parts that differ from run to run. */
function errorOf(log: string): string {
  const failure = log.slice(
    Math.max(log.lastIndexOf("command failed"), log.lastIndexOf("err="), log.lastIndexOf("panic:")),
  );
  const text = failure.replace(/^(command failed" )?err=[<"]?/, "").replaceAll("\\", "");
  return text
    .replaceAll(/, path: .*|\{.*|\n/gs, " ")
    .replaceAll(/\s+/g, " ")
    .trim()
    .slice(0, 160);
}

const assets = process.env["KUBEBUILDER_ASSETS"];
const missing = missingForKubelet(assets);
if (assets === undefined || missing !== null) throw new Error(missing ?? "no KUBEBUILDER_ASSETS");
const kubelet = join(assets, "kubelet");
const release = /v(\d+\.\d+)/.exec(execFileSync(kubelet, ["--version"], { encoding: "utf8" }))?.[1] ?? "";
const recorded = JSON.parse(readFileSync(VERDICTS, "utf8")) as Record<string, Verdicts>;
const only = process.argv[2] ?? "";
const isChosen = ({ name }: Configuration) =>
  only === "--missing" ? recorded[name]?.[release] === undefined : name.includes(only);
const folder = mkdtempSync(join(tmpdir(), "verdicts-"));
const putBack = notePutBack(folder);
const runtime = containerd();
try {
  runtime.network(true);
  await runtime.start();
  for (const configuration of CONFIGURATIONS.filter(isChosen)) {
    const of = await verdict(configuration, kubelet, folder, runtime.socketPath);
    recorded[configuration.name] = {
      ...recorded[configuration.name],
      [release]: of?.replaceAll(folder, "FOLDER") ?? null,
    };
    console.error(`${of === null ? "accepted" : `refused (${of.slice(0, 120)})`}: ${configuration.name}`);
  }
} finally {
  // After an error, --missing continues with the rest.
  const inOrder = CONFIGURATIONS.map(({ name }) => [name, recorded[name]]);
  writeFileSync(VERDICTS, `${JSON.stringify(Object.fromEntries(inOrder), null, 2)}\n`);
  await runtime.remove();
  putBack();
  rmSync(folder, { recursive: true, force: true });
}
