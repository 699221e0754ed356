// Tests how a deployment gets the secrets that a Worker lacks. It makes them, stores them in private files, reads them
// from these files, or lets kubectl create them.
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { adminSecretOf, gatherSecrets } from "../../../infra/deploy/secrets.ts";
import type { Kubectl } from "../../../infra/operator/kubectl.ts";
import type { MissingSecret } from "../../../infra/deploy/plan.ts";
import { readSettings } from "../../../infra/deploy/settings-file.ts";
import { SECRETS } from "../../../shared/deployment/secrets.ts";
import { failure, success } from "../../../shared/result.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rollcall-secrets-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

function settingsOf(more = "") {
  const file = join(folder, "rollcall.yaml");
  const read = readSettings(`origin: https://a.test\napiserver: https://kube.test\n${more}`, file, null);
  if (!read.ok) throw new Error(read.error.join("\n"));
  return read.value;
}

const MADE: MissingSecret[] = [
  { secret: "KID_MAC_KEYS", from: "made", file: undefined },
  { secret: "ADMIN_SECRET_SHA256", from: "made", file: undefined },
];
const TOKEN: MissingSecret = { secret: "KUBE_TOKEN", from: "cluster", file: undefined };

const unasked: Kubectl = () => Promise.reject(new Error("kubectl is not asked"));

async function gathered(missing: MissingSecret[], more?: string, kubectl = unasked) {
  const found = await gatherSecrets(missing, settingsOf(more), kubectl);
  if (!found.ok) throw new Error(found.error.message);
  return found.value;
}
const sha256 = (text: string) => createHash("sha256").update(text).digest("base64url");
const privateFile = (name: string, text: string, mode = 0o600) => {
  writeFileSync(join(folder, name), text, { mode });
  return join(folder, name);
};

describe("the admin secret", () => {
  it("without a file → shown, and only its hash is set", async () => {
    const { secrets, toShow, adminSecret } = await gathered(MADE);
    expect(secrets.KID_MAC_KEYS).toMatch(/^1:[\w-]{43}$/);
    expect(toShow).toMatch(/^[\w-]{43}$/);
    expect(adminSecret).toBe(toShow);
    expect(secrets.ADMIN_SECRET_SHA256).toBe(sha256(toShow ?? ""));
  });

  it("with a file → kept there, for nobody else, and not shown", async () => {
    const { secrets, toShow } = await gathered(MADE, "adminSecretFile: admin");
    expect(toShow).toBeNull();
    expect(statSync(join(folder, "admin")).mode & 0o777).toBe(0o600);
    expect(sha256(readFileSync(join(folder, "admin"), "utf8").trim())).toBe(secrets.ADMIN_SECRET_SHA256);
  });

  it("with a file that is there → that one, as after a deployment that failed", async () => {
    privateFile("admin", "kept\n");
    const { secrets } = await gathered(MADE, "adminSecretFile: admin");
    expect(secrets.ADMIN_SECRET_SHA256).toBe(sha256("kept"));
  });

  it("in a file, of more than a word → refused before anything is sent, since no request could bring it", async () => {
    const file = privateFile("admin", "correct horse battery!");
    expect(await gatherSecrets(MADE, settingsOf("adminSecretFile: admin"), unasked)).toEqual({
      ok: false,
      error: {
        reason: "usage",
        message: expect.stringContaining(`${file} holds no secret: one word is expected`),
      },
    });
  });

  it("in a file that others may read → refused, with what to do", () => {
    const file = privateFile("admin", "kept", 0o644);
    expect(adminSecretOf(settingsOf("adminSecretFile: admin"))).toEqual({
      ok: false,
      error: { reason: "usage", message: expect.stringContaining(`chmod 600 ${file}`) },
    });
  });
});

describe("the keys", () => {
  const keys = (from: "made" | "file"): MissingSecret => ({
    secret: "KID_MAC_KEYS",
    from,
    file: settingsOf().secretFiles.KID_MAC_KEYS,
  });
  const file = () => join(folder, "rollcall.kid-mac-keys");

  it("are kept as they are set, for nobody else, also where the settings say nothing of it", async () => {
    const { secrets } = await gathered([keys("made")]);
    expect(readFileSync(file(), "utf8").trim()).toBe(secrets.KID_MAC_KEYS);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
  });

  it("that are kept → the same for a Worker that has none, as after its loss", async () => {
    const { secrets: first } = await gathered([keys("made")]);
    const { secrets: second } = await gathered([keys("file")]);
    expect(second).toEqual(first);
  });

  it("where others have been written meanwhile → nothing is set, and those stay", async () => {
    privateFile("rollcall.kid-mac-keys", "1:others\n");
    expect(await gatherSecrets([keys("made")], settingsOf(), unasked)).toMatchObject({
      ok: false,
      error: { reason: "usage", message: expect.stringContaining(`${file()} is there already`) },
    });
    expect(readFileSync(file(), "utf8")).toBe("1:others\n");
  });
});

it.each([
  ["is not there", null, /which is not there: write it there/],
  ["is empty", "\n", /which is empty: write it there/],
])("a file that %s → nothing is made", async (_, text, says) => {
  const file = text === null ? join(folder, "token") : privateFile("token", text);
  const missing: MissingSecret[] = [...MADE, { secret: "KUBE_TOKEN", from: "file", file }];
  const found = await gatherSecrets(missing, settingsOf("adminSecretFile: admin"), unasked);
  expect(found).toMatchObject({
    ok: false,
    error: { reason: "usage", message: expect.stringMatching(says) },
  });
  expect(existsSync(join(folder, "admin"))).toBe(false);
});

describe("the cluster's token", () => {
  it("is what kubectl creates, in the context of the settings, bound to a Secret", async () => {
    const kubectl: Kubectl = (args) => Promise.resolve(success(`${args.join(" ")}\n`));
    const { secrets } = await gathered([TOKEN], "kubeContext: shops\ndeployment: west", kubectl);
    expect(secrets.KUBE_TOKEN).toBe(
      "--context shops create token west -n rollcall-system --duration 8760h --bound-object-kind Secret --bound-object-name west",
    );
  });

  it.each([
    [
      "fails → its own words",
      failure("kubectl: error: serviceaccounts rollcall not found"),
      "error: serviceaccounts rollcall not found",
    ],
    ["prints nothing → that", success("\n"), "kubectl printed no token"],
  ])("for which kubectl %s, what to do, and nothing is made", async (_, ended, words) => {
    const settings = settingsOf("adminSecretFile: admin");
    expect(await gatherSecrets([...MADE, TOKEN], settings, () => Promise.resolve(ended))).toMatchObject({
      ok: false,
      error: {
        reason: "failed",
        message: expect.stringContaining(`${words}\n  → let kubectl reach the cluster`),
      },
    });
    expect(existsSync(join(folder, "admin"))).toBe(false);
  });
});

it("each secret that the Worker takes may come from a file", () => {
  const files = Object.fromEntries(Object.keys(SECRETS).map((name) => [name, "./x"]));
  const { secretFiles } = settingsOf(`secretFiles: ${JSON.stringify(files)}\n`);
  expect(Object.keys(secretFiles).toSorted()).toEqual(Object.keys(SECRETS).toSorted());
});
