// Tests the role for Ansible: its variables and commands exist, and Ansible and its linter accept the role.
import { spawnSync } from "node:child_process";
import { cpSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it, test } from "vitest";
import { parse } from "yaml";
import { shimProgram } from "../../../../node-shim/cli/command-line.ts";
import { ROOT, temporaryFolder } from "../../../e2e/local-cluster.ts";

const ROLE = join(ROOT, "infra/ansible/node_shim");
const read = (file: string) => readFileSync(join(ROLE, file), "utf8");
const isMissing = (program: string) => spawnSync(program, ["--version"]).error !== undefined;
const why = (program: string) => (isMissing(program) ? ` (skipped: ${program} is not installed)` : "");

describe("the role", () => {
  const tasks = read("tasks/main.yml");
  const used = new Set(tasks.match(/\bnode_shim_\w+/g));

  it("its variables are those of defaults/main.yml", () => {
    const registered = [...tasks.matchAll(/register: (\w+)/g)].map(([, name = ""]) => name);
    const variables = Object.keys(parse(read("defaults/main.yml")) as object);
    expect([...used].sort()).toEqual([...variables, ...registered].sort());
  });

  it("node-shim has the command and the flags", () => {
    const [, command = "", rest = ""] = /argv: \[node-shim, (\w+), (.*)\]/.exec(tasks) ?? [];
    const known = shimProgram().commands.find((each) => each.name() === command)?.options;
    const flags = rest.match(/--[\w-]+/g) ?? [];
    expect(flags).toHaveLength(3);
    expect(flags.filter((flag) => !known?.some(({ long }) => long === flag))).toEqual([]);
  });

  it("a notified handler exists", () => {
    const handlers = (parse(read("handlers/main.yml")) as { name: string }[]).map(({ name }) => name);
    expect([...tasks.matchAll(/notify: (.*)/g)].map(([, name]) => name)).toEqual(handlers);
  });
});

describe("Ansible", () => {
  const folder = temporaryFolder();
  afterAll(() => folder.remove());
  cpSync(ROLE, join(folder.path, "roles/node_shim"), { recursive: true });
  const playbook = join(folder.path, "playbook.yml");
  const ran = (program: string, ...args: string[]) =>
    spawnSync(program, args, {
      cwd: folder.path,
      encoding: "utf8",
      env: { ...process.env, HOME: folder.path, ANSIBLE_LOCALHOST_WARNING: "false", LC_ALL: "C.UTF-8" },
    });
  const play = (variables: object) => {
    const task = {
      hosts: "localhost",
      connection: "local",
      gather_facts: false,
      roles: ["node_shim"],
      vars: variables,
    };
    writeFileSync(playbook, JSON.stringify([{ name: "Install the shim", ...task }]));
    return ran("ansible-playbook", "-i", "localhost,", "--check", playbook);
  };

  test.skipIf(isMissing("ansible-playbook"))(
    `without the addresses → the role stops before it changes anything${why("ansible-playbook")}`,
    () => {
      const { status, stdout } = play({});
      expect(status).toBe(2);
      expect(stdout).toContain("Set node_shim_packages and node_shim_url");
      expect(stdout).toMatch(/changed=0/);
    },
  );

  test.skipIf(isMissing("ansible-lint"))(`its linter has no complaint${why("ansible-lint")}`, () => {
    expect(globSync("*/*.yml", { cwd: ROLE }).length).toBe(4);
    const { status, stdout, stderr } = ran(
      "ansible-lint",
      "--offline",
      "--profile",
      "production",
      "roles/node_shim",
    );
    expect(status, `${stdout}${stderr}`).toBe(0);
  });
});
