# The formula of the command line for Homebrew. A release writes the checksum of its package into a copy of this file:
# node infra/release/main.ts formula
class Rollcall < Formula
  desc "Lists and manages machines without a kubelet that rollcall keeps as Nodes"
  homepage "https://www.npmjs.com/package/@rollcall/cli"
  url "https://registry.npmjs.org/@rollcall/cli/-/cli-0.1.0.tgz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license "Apache-2.0"

  depends_on "node"

  def install
    bin.install "dist/rollcall.cjs" => "rollcall"
    bin.install_symlink bin/"rollcall" => "kubectl-rollcall"
    bin.install_symlink bin/"rollcall" => "kubectl_complete-rollcall"
    generate_completions_from_executable(bin/"rollcall", "completion", shells: [:bash, :zsh, :fish])
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/rollcall --version")
  end
end
