// Renders the control file, changelog and copyright of a .deb.
import { PACKAGE } from "../../node-shim/service/package.ts";
import { packageVersion } from "../../shared/package-version.ts";
import type { RuntimeArchitecture } from "./runtime.ts";

/** The maintainer's name. No address follows it, because the project has no mailbox. */
export const MAINTAINER = "The rollcall authors";

export type Architecture = "all" | RuntimeArchitecture;

/**
 * The packages that a .deb depends on, by architecture. `all` uses the machine's nodejs. The packages of amd64 and
 * arm64 contain a Node.js, whose build needs glibc 2.28, and libstdc++ with GLIBCXX_3.4.21 and CXXABI_1.3.11, as
 * from GCC 7.
 */
const DEPENDS = {
  all: "nodejs (>= 20)",
  amd64: "libc6 (>= 2.28), libgcc-s1 | libgcc1, libstdc++6 (>= 7)",
  arm64: "libc6 (>= 2.28), libgcc-s1 | libgcc1, libstdc++6 (>= 7)",
} as const satisfies Record<Architecture, string>;

export interface Control {
  version: string;
  architecture: Architecture;
  sizeKib: number;
}

/** Returns the control file. All architectures share one package name, so that dpkg replaces one by another. */
export function controlText({ version, architecture, sizeKib }: Control): string {
  return `Package: ${PACKAGE}
Version: ${packageVersion(version)}
Architecture: ${architecture}
Maintainer: ${MAINTAINER}
Installed-Size: ${sizeKib}
Depends: ${DEPENDS[architecture]}
Pre-Depends: init-system-helpers (>= 1.54~)
Section: admin
Priority: optional
Description: reports this machine to Kubernetes as a Node, without a kubelet
 The shim gathers facts about the machine and posts them, signed, to a rollcall
 Worker, which keeps the machine's Node object in a cluster true: created,
 labelled, Ready or not, its lease renewed.
 .
 The machine holds no credential of the cluster and opens no port; all it needs
 is outbound HTTPS. After the installation, enrol it with "node-shim join".
${architecture === "all" ? "" : " .\n The Node.js that it runs on is inside.\n"}`;
}

/** Returns debian/changelog with one entry. `date` is the date of the build. */
export function changelogText(version: string, date: Date, name: string = PACKAGE): string {
  const rfc2822 = date.toUTCString().replace("GMT", "+0000");
  return `${name} (${packageVersion(version)}) unstable; urgency=medium

  * See the project's history for what has changed.

 -- ${MAINTAINER} <>  ${rfc2822}
`;
}

/** Returns debian/copyright in the machine-readable format. `notices` has the licences of bundled libraries. */
export function copyrightText(notices: string): string {
  const indented = notices
    .trimEnd()
    .split("\n")
    .map((line) => (line.trim() === "" ? " ." : ` ${line}`))
    .join("\n");
  return `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: rollcall
Comment: what is in dist bundles the libraries below, each under its own terms.
${indented}

Files: *
Copyright: the rollcall authors
License: Apache-2.0
 On Debian systems, the text of the Apache License, version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.
`;
}
