// Makes the text of the systemd unit, and parses the texts of an installed unit. Does not access files.

export const UNIT_NAME = "rollcall-node-shim.service";
/** The units that answer questions: a socket for the shim, and a service for each question. */
export const ASK_SOCKET_UNIT = "rollcall-ask.socket";
export const ASK_SERVICE_UNIT = "rollcall-ask@.service";
/** ListenStream= of ASK_SOCKET_UNIT. */
export const ASK_SOCKET = "/run/rollcall-ask.sock";
/** The first line of each unit that install-service makes. The shim changes no other unit. */
export const MADE_BY = "# Made by node-shim install-service; uninstall-service removes it.";
/** The path of the drop-in for install-service --kmsg, below the unit's folder. */
export const KMSG_DROP_IN = `${UNIT_NAME}.d/kmsg.conf`;
/** The text of KMSG_DROP_IN. The unit's private /dev stays: it gets one device, which the service can only read. */
export const KMSG_TEXT = `${MADE_BY}
# Lets problem detectors read the kernel's log, also where kernel.dmesg_restrict is 1.
[Service]
BindReadOnlyPaths=-/dev/kmsg
DeviceAllow=/dev/kmsg r
CapabilityBoundingSet=CAP_SYSLOG
ProtectKernelLogs=no
`;
/** The state folder that systemd makes for the unit's StateDirectory=. */
const DEFAULT_STATE = "/var/lib/rollcall";

export interface Installation {
  /** The absolute path of node. */
  node: string;
  /** The absolute path of the shim's program. */
  shim: string;
  /** The flags of `node-shim run`. */
  flags: string[];
  /** The absolute path of the state folder. */
  state: string;
}

/** Returns the unit's text for an installation. `template` is the text of infra/systemd/rollcall-node-shim.service. */
export function unitText(template: string, { node, shim, flags, state }: Installation): string {
  const command = [node, shim, "run", ...flags].map(systemdWord).join(" ");
  const isOwnFolder = state !== DEFAULT_STATE;
  // nvm installs node below a home folder, and flags may name files there. ProtectHome would hide them.
  const usesHome = [node, shim, ...flags].some((word) => /(^|=)(\/home|\/root|\/run\/user)\//.test(word));
  const lines = template.split("\n").flatMap((line): string[] => {
    const [key] = line.split("=");
    if (key === "ExecStart") return [`ExecStart=${command} $NODE_SHIM_FLAGS`];
    // The unit need not wait for `node-shim join`: an operator who runs install-service has joined, or passes a token.
    if (key === "ConditionPathExists" || line.startsWith("# Waits for `node-shim join`")) return [];
    if (key === "StateDirectory" && isOwnFolder) return [`ReadWritePaths=${systemdWord(state)}`];
    if (key === "StateDirectoryMode" && isOwnFolder) return [];
    if (key === "ProtectHome" && usesHome) return ["ProtectHome=read-only"];
    return [line];
  });
  return [MADE_BY, ...lines].join("\n");
}

/** Returns the text of ASK_SERVICE_UNIT for an installation. `template` is the text of the packages' unit. */
export function askUnitText(template: string, { node, shim, state }: Omit<Installation, "flags">): string {
  const command = [node, shim, "ask", "--serve"].map(systemdWord).join(" ");
  const text = template
    .replace(/^ExecStart=.*$/m, () => `ExecStart=${command} %i`)
    .replace(`-${DEFAULT_STATE}/key.json`, () => systemdWord(`-${state}/key.json`));
  return `${MADE_BY}\n${text}`;
}

/** Quotes a command-line word as in systemd.service(5). Doubles % and $, which systemd reads as one character. */
function systemdWord(word: string): string {
  const doubled = word.replaceAll("%", "%%").replaceAll("$", "$$$$");
  if (/^[\w@+=:,./%-]+$/.test(doubled)) return doubled;
  return `"${doubled.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}

/** The part of a unit and its drop-ins that the shim uses: see systemd.service(5) and systemd.exec(5). */
interface UnitService {
  /** The unit's command line; "" if the unit has none. */
  execStart: string;
  /** The variables of Environment=, in their order. */
  environment: [name: string, value: string][];
  /** The paths of EnvironmentFile=, in their order. */
  environmentFiles: string[];
}

/** Parses the texts of a unit and of its drop-ins. The texts must be in systemd's order. */
export function serviceOf(texts: readonly string[]): UnitService {
  const service: UnitService = { execStart: "", environment: [], environmentFiles: [] };
  for (const [key, value] of texts.flatMap(assignments)) {
    // An empty value removes the earlier values of its key, also those of an earlier file.
    if (key === "ExecStart") service.execStart = value;
    else if (key === "Environment")
      service.environment = value === "" ? [] : [...service.environment, ...pairs(words(value))];
    else if (key === "EnvironmentFile")
      service.environmentFiles =
        value === "" ? [] : [...service.environmentFiles, value.replace(/^-/, "").replaceAll("%%", "%")];
  }
  return service;
}

/** Parses the assignments of [Service]. A line that ends with a backslash continues on the next line. */
function assignments(text: string): [key: string, value: string][] {
  let section = "";
  return text
    .replaceAll(/\\\n/g, " ")
    .split("\n")
    .flatMap((line): [string, string][] => {
      const header = /^\[(.+)\]\s*$/.exec(line);
      if (header) section = header[1] ?? "";
      const assignment = /^\s*(\w+)\s*=\s*(.*?)\s*$/.exec(line);
      if (!assignment || section !== "Service") return [];
      return [[assignment[1] ?? "", assignment[2] ?? ""]];
    });
}

/** Splits a command line into words, as systemd does: a quoted text is a word, and a backslash escapes a character. */
function words(text: string): string[] {
  const found: string[] = [];
  let word: string | null = null;
  let quote = "";
  for (let index = 0; index < text.length; index++) {
    const character = text[index] ?? "";
    if (character === "\\" && quote !== "'") word = (word ?? "") + (text[++index] ?? "");
    else if (quote !== "") {
      if (character === quote) quote = "";
      else word = (word ?? "") + character;
    } else if (character === '"' || character === "'") {
      quote = character;
      word ??= "";
    } else if (/\s/.test(character)) {
      if (word !== null) found.push(word);
      word = null;
    } else word = (word ?? "") + character;
  }
  return word === null ? found : [...found, word];
}

function pairs(assigned: readonly string[]): [string, string][] {
  return assigned.flatMap((word): [string, string][] => {
    const at = word.indexOf("=");
    return at < 1 ? [] : [[word.slice(0, at), word.slice(at + 1).replaceAll("%%", "%")]];
  });
}

/** Parses the assignments in the text of an EnvironmentFile=. */
export function environmentIn(text: string): [name: string, value: string][] {
  return text
    .replaceAll(/\\\n/g, "")
    .split("\n")
    .flatMap((line): [string, string][] => {
      const assignment = /^\s*([A-Za-z_]\w*)\s*=\s*(.*?)\s*$/.exec(line);
      return assignment ? [[assignment[1] ?? "", unquoted(assignment[2] ?? "")]] : [];
    });
}

/** Removes the quotes around a value. In an EnvironmentFile=, a value with blanks needs no quotes. */
function unquoted(value: string): string {
  const [quote] = value;
  if ((quote !== '"' && quote !== "'") || value.length < 2 || !value.endsWith(quote)) return value;
  const inner = value.slice(1, -1);
  return quote === '"' ? inner.replaceAll(/\\([\\"$`])/g, "$1") : inner;
}

/** Returns the arguments after `run` in a unit's command line; undefined if the command is not `run`. */
export function runArguments(
  execStart: string,
  environment: ReadonlyMap<string, string>,
): string[] | undefined {
  const all = words(execStart).flatMap((word) => expanded(word, environment));
  const run = all.indexOf("run");
  return run === -1 ? undefined : all.slice(run + 1);
}

/** Expands a word's variables. $NAME alone becomes several words, ${NAME} never. $$ and %% become one character. */
function expanded(word: string, environment: ReadonlyMap<string, string>): string[] {
  const whole = /^\$([A-Za-z_]\w*)$/.exec(word);
  if (whole) return words(environment.get(whole[1] ?? "") ?? "");
  const text = word.replaceAll(/\$\$|%%|\$\{([A-Za-z_]\w*)\}/g, (found, name: string | undefined) =>
    name === undefined ? found.slice(1) : (environment.get(name) ?? ""),
  );
  return [text];
}
