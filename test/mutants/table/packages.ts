// What a machine installs is what was built, or nothing.
import { mutantsOf } from "../mutant.ts";

const INSTALLER = "infra/install/install.sh";
const INSTALLER_TEST = "infra/install/install.test.ts";

export const packageMutants = [
  ...mutantsOf("a package on its way", [
    [
      "a package has the sum of SHA256SUMS",
      INSTALLER,
      '[ "$(sum_of "$name")" = "$sum" ]',
      "true",
      INSTALLER_TEST,
      "a package of other bytes",
    ],
    [
      "SHA256SUMS has the sum that the operator names",
      INSTALLER,
      '[ "$(sum_of SHA256SUMS)" = "$digest" ]',
      "true",
      INSTALLER_TEST,
      "the sum of SHA256SUMS with",
    ],
    [
      "plain http only with a sum",
      INSTALLER,
      'http://*) [ -n "$digest" ] ||',
      "http://*) true ||",
      INSTALLER_TEST,
      "http:// without a sum",
    ],
    [
      "what does not run here is not put in force",
      INSTALLER,
      '"$stage/bin/node-shim" version > /dev/null ||',
      "true ||",
      INSTALLER_TEST,
      "a newer release that does not run here",
    ],
    [
      "the Node.js inside is the one that is locked",
      "infra/deb/runtime.ts",
      "if (integrity !== `sha512-${digest}`)",
      "if (integrity === '')",
      "infra/deb/runtime.test.ts",
      "the bytes of package-lock.json",
    ],
    [
      "a Worker cannot make a machine go back",
      "node-shim/commands/upgrade.ts",
      "if (isBehind(VERSION, version)) return",
      "if (version !== VERSION) return",
      "node-shim/commands/upgrade.test.ts",
      "an older version is given",
    ],
    [
      "what the Worker names is a version, before it is an argument",
      "node-shim/worker-link/requests.ts",
      "&& RELEASE.test(answer.version)",
      "",
      "node-shim/worker-link/requests.test.ts",
      "allow-unauthenticated",
    ],
    [
      "apt verifies what it installs",
      "node-shim/service/package.ts",
      '"--assume-yes",',
      '"--assume-yes", "--allow-unauthenticated",',
      "node-shim/service/package.test.ts",
      "nothing that weakens",
    ],
  ]),
];
