// The order of the rooms. A room is a folder directly below a part; docs/architecture.md says what is in each.

/** A part of the house. Files directly in it, such as `worker/env.ts`, may import any of its rooms, and its rooms them. */
interface Part {
  path: string;
  /** Other parts that its files may import. */
  above: readonly string[];
  /** Its rooms, lowest floor first: a room imports lower floors alone. Without floors, its rooms have no order. */
  floors?: readonly string[];
}

export const PARTS: readonly Part[] = [
  {
    path: "shared",
    above: [],
    floors: [
      "go",
      "kubernetes",
      "resources",
      "protocol",
      "deployment fleet setters events",
      "node",
      "from-report",
      "quiet",
    ],
  },
  {
    path: "worker",
    above: ["shared"],
    floors: [
      "identity metrics",
      "kube",
      "storage",
      "tick cluster fleet",
      "registry",
      "machine",
      "gateway",
      "http",
    ],
  },
  {
    path: "node-shim",
    above: ["shared"],
    floors: [
      "base",
      "wire",
      "config identity shutdown service",
      "sources",
      "machine",
      "worker-link",
      "loop",
      "status",
      "doctor",
      "commands",
      "cli",
    ],
  },
  {
    path: "infra/page",
    above: ["shared"],
    floors: ["base", "live", "parts", "fleet machine views", "frame"],
  },
  { path: "infra/page/build", above: [] },
  { path: "infra/local/apiserver", above: ["shared"] },
  { path: "infra", above: ["shared", "node-shim", "infra/local/apiserver", "infra/page/build"] },
];

/** Where the floors do not decide. */
export const EXCEPTIONS: readonly { from: string; to: string; allowed: boolean; reason: string }[] = [
  {
    from: "shared/protocol",
    to: "shared/fleet",
    allowed: true,
    reason: "A route's query is parsed by the search's grammar.",
  },
  ...["tick", "cluster", "fleet", "registry"].map((room) => ({
    from: "worker/gateway",
    to: `worker/${room}`,
    allowed: false,
    reason: "A gateway renews leases and passes reports to machine/; it decides nothing about a Node.",
  })),
];

/** Packages that only these paths may import. */
export const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  hono: ["worker/http/", "worker/index.ts"],
};
