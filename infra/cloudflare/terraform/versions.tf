# Makes the objects of the Cloudflare account for the connection to the apiserver (docs/apiserver.md). Terraform's state
# contains the secrets of the Tunnel and the service tokens: store it like other secrets.
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

# CLOUDFLARE_API_TOKEN needs these permissions: in the account, to edit Cloudflare Tunnel, Access: Apps and Policies,
# Access: Service Tokens, and, for a VPC service, Connectivity Directory; in the zone, to edit DNS.
provider "cloudflare" {}
