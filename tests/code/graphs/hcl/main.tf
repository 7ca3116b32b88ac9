locals { tags = { app = var.name } }
data "aws_ami" "linux" { most_recent = true }
resource "aws_instance" "web" {
  ami  = data.aws_ami.linux.id
  tags = local.tags
  name = "${var.name}-web"
}
module "net" { source = "./net" }
output "address" { value = aws_instance.web.public_ip }
