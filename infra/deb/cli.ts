// Makes the packages of the operator's command line: for npm, for dpkg, and as one file.
import { copyFileSync, chmodSync, cpSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { packageVersion } from "../../shared/package-version.ts";
import { VERSION } from "../../shared/version.ts";
import { completionScript } from "../operator/completion.ts";
import { operatorProgram } from "../operator/program.ts";
import { type Destination, makeDeb, packNpm } from "./archives.ts";
import { gzip, settle, writerOf } from "./contents.ts";
import { changelogText, copyrightText, MAINTAINER } from "./control.ts";
import { type ManualPart, manPage } from "./man-page.ts";
import { filesIn, md5sums, sizeKibOf } from "./tree.ts";

export const CLI_PACKAGE = "rollcall-cli";
const PROGRAM = "rollcall";
/** The program's names. kubectl finds the second as a plugin, and the third as the plugin's completion. */
const COMMANDS = [PROGRAM, "kubectl-rollcall", "kubectl_complete-rollcall"] as const;

/** Makes the three packages from one bundle. Returns their file names. */
export async function packCli(place: Destination): Promise<string[]> {
  const work = join(place.work, CLI_PACKAGE);
  mkdirSync(work);
  const to = { ...place, work };
  const tarball = packNpm(to, "infra/operator", CLI_PACKAGE);
  const npmPackage = join(work, "package");
  const file = join(to.out, `${CLI_PACKAGE}-${VERSION}.cjs`);
  copyFileSync(join(npmPackage, "dist/rollcall.cjs"), file);
  chmodSync(file, 0o755);
  const tree = join(work, "tree");
  fillCliTree(tree, npmPackage, to.epochSeconds);
  return [tarball, await makeDeb(to, tree, `${CLI_PACKAGE}_${VERSION}_all.deb`), file];
}

export function fillCliTree(tree: string, npmPackage: string, epochSeconds: number): void {
  const put = writerOf(tree);
  const home = `usr/share/${CLI_PACKAGE}`;
  cpSync(npmPackage, join(tree, home), { recursive: true });
  chmodSync(join(tree, home, "dist/rollcall.cjs"), 0o755);
  mkdirSync(join(tree, "usr/bin"), { recursive: true });
  for (const command of COMMANDS)
    symlinkSync(`../share/${CLI_PACKAGE}/dist/rollcall.cjs`, join(tree, "usr/bin", command));
  put("usr/share/bash-completion/completions/rollcall", completionScript("bash"));
  put("usr/share/zsh/vendor-completions/_rollcall", completionScript("zsh"));
  put("usr/share/fish/vendor_completions.d/rollcall.fish", completionScript("fish"));
  const date = new Date(epochSeconds * 1000);
  put(`usr/share/man/man1/${PROGRAM}.1.gz`, gzip(manual(date)));
  symlinkSync(`${PROGRAM}.1.gz`, join(tree, "usr/share/man/man1/kubectl-rollcall.1.gz"));
  const documents = `usr/share/doc/${CLI_PACKAGE}`;
  const notices = readFileSync(join(npmPackage, "dist/THIRD-PARTY-NOTICES.txt"), "utf8");
  put(`${documents}/copyright`, copyrightText(notices));
  put(`${documents}/changelog.gz`, gzip(changelogText(VERSION, date, CLI_PACKAGE)));
  const files = filesIn(tree);
  put("DEBIAN/control", controlText(sizeKibOf(tree)));
  put("DEBIAN/md5sums", md5sums(tree, files));
  settle(tree, epochSeconds);
}

const controlText = (sizeKib: number) => `Package: ${CLI_PACKAGE}
Version: ${packageVersion(VERSION)}
Architecture: all
Maintainer: ${MAINTAINER}
Installed-Size: ${sizeKib}
Depends: nodejs (>= 20)
Section: admin
Priority: optional
Description: shows and changes what a rollcall Worker keeps true
 Machines without a kubelet, their states, why a Node is not Ready and what to
 do, what changed and when, join tokens, approvals, and whether the Worker
 works: rollcall, which is also kubectl rollcall.
`;

const MANUAL: ManualPart = {
  section: 1,
  files: [
    [
      "~/.config/rollcall/config.json",
      "The contexts; in XDG_CONFIG_HOME if that is set. Only you can read it.",
    ],
  ],
};

function manual(date: Date): string {
  const noTerminal = { isInteractive: false, ask: () => Promise.resolve(undefined) };
  const process = { env: {}, stdout: { write: () => true }, stderr: { write: () => true } };
  const program = operatorProgram({
    process,
    terminal: noTerminal,
    now: () => date.getTime(),
    pause: () => Promise.resolve(),
    changesOf: () => {
      throw new Error("nothing is asked");
    },
  });
  return manPage(program, { version: VERSION, date: date.toISOString().slice(0, 10) }, MANUAL);
}
