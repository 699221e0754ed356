// Makes the systemd unit for one installation from the packages' unit. Pure: touches no file.

export const UNIT_NAME = "rollcall-node-shim.service";
/** A unit without this line is not ours to change or remove. */
export const MADE_BY = "# Made by node-shim install-service; uninstall-service removes it.";
/** What the unit's own StateDirectory= makes. */
const DEFAULT_STATE = "/var/lib/rollcall";

export interface Installation {
  /** Absolute path of node. */
  node: string;
  /** Absolute path of what node runs. */
  shim: string;
  /** Flags of `run`. */
  flags: string[];
  /** The state folder, absolute. */
  state: string;
}

/** `template` is infra/systemd/rollcall-node-shim.service. */
export function unitText(template: string, { node, shim, flags, state }: Installation): string {
  const command = [node, shim, "run", ...flags].map(systemdWord).join(" ");
  const isOwnFolder = state !== DEFAULT_STATE;
  // The service must be able to read a node that is installed below a home folder, as by nvm, and files that flags name.
  const usesHome = [node, shim, ...flags].some((word) => /(^|=)(\/home|\/root|\/run\/user)\//.test(word));
  const lines = template.split("\n").flatMap((line): string[] => {
    const [key] = line.split("=");
    if (key === "ExecStart") return [`ExecStart=${command} $NODE_SHIM_FLAGS`];
    // Whoever installs the service has joined, or passes a token.
    if (key === "ConditionPathExists" || line.startsWith("# Waits for `node-shim join`")) return [];
    if (key === "StateDirectory" && isOwnFolder) return [`ReadWritePaths=${systemdWord(state)}`];
    if (key === "StateDirectoryMode" && isOwnFolder) return [];
    if (key === "ProtectHome" && usesHome) return ["ProtectHome=read-only"];
    return [line];
  });
  return [MADE_BY, ...lines].join("\n");
}

/** One word of a command line, as systemd.service(5) quotes it: % and $ stand for themselves when doubled. */
function systemdWord(word: string): string {
  const doubled = word.replaceAll("%", "%%").replaceAll("$", "$$$$");
  if (/^[\w@+=:,./%-]+$/.test(doubled)) return doubled;
  return `"${doubled.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}
