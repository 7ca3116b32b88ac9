# Where the shop runs.
terraform {
  required_version = ">= 1.5"

  required_providers {
    aws = { source = "hashicorp/aws" }
  }
}

# The region.
variable "region" {
  type    = string
  default = "eu-central-1"
}

locals {
  name = "shop-${var.region}"
  tags = { app = local.name }
}

data "aws_ami" "linux" {
  most_recent = true
}

resource "aws_instance" "web" {
  ami   = data.aws_ami.linux.id
  count = length(var.zones)
  tags  = local.tags

  lifecycle {
    create_before_destroy = true
  }
}

module "vpc" {
  source = "./modules/vpc"
  name   = local.name
}

output "address" {
  value = aws_instance.web[0].public_ip
}
