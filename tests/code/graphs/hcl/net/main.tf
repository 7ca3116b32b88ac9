resource "aws_vpc" "main" { cidr = "10.0.0.0/16" }
output "id" { value = aws_vpc.main.id }
