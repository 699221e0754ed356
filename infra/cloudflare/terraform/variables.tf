variable "account_id" {
  type        = string
  description = "The Cloudflare account's ID."
}

variable "zone_id" {
  type        = string
  description = "The ID of the zone of both hostnames."
}

variable "kube_hostname" {
  type        = string
  default     = ""
  description = "The apiserver's hostname, such as kube.example.com, for a Tunnel behind Access. Empty: no such hostname is made."
}

variable "with_vpc_service" {
  type        = bool
  default     = false
  description = "Make a Workers VPC service, which has no hostname on the internet."
}

variable "rollcall_hostname" {
  type        = string
  default     = ""
  description = "The Worker's hostname, rollcall.example.com: machines are let through, operators log in to Access. Empty: Access is not changed at this hostname."
}

variable "operators" {
  type        = set(string)
  default     = []
  description = "Mail addresses of the people whom Access lets through to the Worker's page and API. ACCESS_ADMINS lists those who may make changes."
}

variable "programs" {
  type        = set(string)
  default     = []
  description = "Names of programs that use the Worker's API without a login, such as deploying and prometheus. Each gets its own service token."
}

variable "service_token_duration" {
  type        = string
  default     = "8760h"
  description = "The time after which service tokens expire, unless they are renewed."
}
