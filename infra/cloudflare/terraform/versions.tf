# The account's side of the way to the apiserver: docs/apiserver.md. Its state holds the Tunnel's and the service tokens'
# secrets: keep it where you keep such things.
terraform {
  required_version = ">= 1.6"
  required_providers {
    cloudflare = {
      source  = "cloudflare/cloudflare"
      version = "~> 5.13"
    }
    random = {
      source  = "hashicorp/random"
      version = "~> 3.6"
    }
  }
}

# CLOUDFLARE_API_TOKEN: of the account, edit Cloudflare Tunnel, Access: Apps and Policies, Access: Service Tokens, and
# Connectivity Directory for a VPC service; of the zone, edit DNS.
provider "cloudflare" {}
