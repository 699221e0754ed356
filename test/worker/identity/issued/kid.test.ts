// Tests which kids this Worker has issued, for which machine, and with which key.
import { describe, expect, it } from "vitest";
import { isIssuedKid, newKid } from "../../../../worker/identity/issued.ts";
import { macOf, parseMacKeys, signingKey } from "../../../../worker/identity/mac-keys.ts";

const secret = (letter: string) => `${letter.repeat(43)}A`.slice(0, 43);
const NEW = `2:${secret("B")}`;
const OLD = `1:${secret("C")}`;
const MACHINE = { thumbprint: "thumb", id: "enrolment" };

const issued = (configured: string, name = "edge-1") => newKid(parseMacKeys(configured), name, MACHINE);
const isIssued = (kid: string, configured = `${NEW} ${OLD}`, name = "edge-1") =>
  isIssuedKid(parseMacKeys(configured), name, kid);

describe("a kid", () => {
  it("has the signing key's ID, the machine's key and its enrolment", async () => {
    expect(await issued(`${NEW} ${OLD}`)).toMatch(/^2\.thumb\.enrolment\.[\w-]{43}$/);
  });

  it.each([
    ["by the first key", NEW, `${NEW} ${OLD}`, true],
    ["by a key that signs no more", OLD, `${NEW} ${OLD}`, true],
    ["by a key that is gone", OLD, NEW, false],
    ["by another secret of that ID", `1:${secret("D")}`, OLD, false],
    ["where there are no keys", NEW, "", false],
  ])("%s", async (_, by, configured, isOurs) => {
    expect(await isIssued(await issued(by), configured)).toBe(isOurs);
  });

  it("for another name → not issued", async () => {
    expect(await isIssued(await issued(NEW), NEW, "edge-2")).toBe(false);
  });

  it.each<[string, (parts: string[]) => string[]]>([
    ["another machine key", ([key, , ...rest]) => [key!, "other", ...rest]],
    ["another enrolment", ([key, thumb, , mac]) => [key!, thumb!, "other", mac!]],
    ["no machine key", ([key, , ...rest]) => [key!, "", ...rest]],
    ["no enrolment", ([key, thumb, , mac]) => [key!, thumb!, "", mac!]],
    ["no MAC", (parts) => [...parts.slice(0, 3), ""]],
    ["a part too few", (parts) => parts.slice(0, 3)],
    ["a part too many", (parts) => [...parts, ""]],
    ["a MAC that is no base64url", (parts) => [...parts.slice(0, 3), "?"]],
    ["a MAC that is too short", (parts) => [...parts.slice(0, 3), "AAAA"]],
    ["a MAC in another spelling", (parts) => [...parts.slice(0, 3), `${parts[3]}=`]],
    ["no key of the Worker's", ([, ...rest]) => ["", ...rest]],
  ])("with %s → not issued", async (_, change) => {
    expect(await isIssued(change((await issued(NEW)).split(".")).join("."))).toBe(false);
  });

  it.each(["thumb", "enrolment"] as const)(
    "over an empty %s, with a good MAC → not issued",
    async (empty) => {
      const [key] = parseMacKeys(NEW);
      const [thumbprint, id] = [empty === "thumb" ? "" : "thumb", empty === "enrolment" ? "" : "enrolment"];
      const mac = await macOf(key!, "kid", `rollcall-kid\nedge-1\n${thumbprint}\n${id}`);
      expect(await isIssued(`2.${thumbprint}.${id}.${mac}`)).toBe(false);
    },
  );
});

describe("the configured keys", () => {
  it.each([
    ["none", "", []],
    ["two", `${NEW} ${OLD}`, ["2", "1"]],
    ["with spaces and lines around them", ` ${NEW}\n\t${OLD} `, ["2", "1"]],
    ["one without a secret", `3: ${OLD}`, ["1"]],
    ["one without an ID", `:${secret("D")} ${OLD}`, ["1"]],
    ["one without a colon", `3 ${OLD}`, ["1"]],
  ])("%s", (_, configured, ids) => {
    expect(parseMacKeys(configured).map(({ id }) => id)).toEqual(ids);
  });

  it("without a key that can sign → a fault", () => {
    expect(() => signingKey([])).toThrow("KID_MAC_KEYS holds no key");
  });
});
