local shop = require("shop")
shop.run()
