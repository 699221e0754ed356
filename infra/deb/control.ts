// The control file, changelog and copyright of a .deb, as texts.
import { PACKAGE } from "../../node-shim/service/package.ts";
import { packageVersion } from "../../shared/package-version.ts";
import type { RuntimeArchitecture } from "./runtime.ts";

/** The address is left out: the project has no mailbox. */
export const MAINTAINER = "The rollcall authors";

export type Architecture = "all" | RuntimeArchitecture;

/**
 * The package of architecture all uses the machine's nodejs. The others have a Node.js inside and need the C and C++
 * libraries of its build: glibc 2.28, and libstdc++ with GLIBCXX_3.4.21 and CXXABI_1.3.11, as from GCC 7.
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

/** All architectures have one name: dpkg replaces one package by the other, and no Conflicts field is needed. */
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

/** `date`: the date of the build. */
export function changelogText(version: string, date: Date, name: string = PACKAGE): string {
  const rfc2822 = date.toUTCString().replace("GMT", "+0000");
  return `${name} (${packageVersion(version)}) unstable; urgency=medium

  * See the project's history for what has changed.

 -- ${MAINTAINER} <>  ${rfc2822}
`;
}

/** debian/copyright, machine-readable. `notices`: the licences of bundled libraries. */
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
