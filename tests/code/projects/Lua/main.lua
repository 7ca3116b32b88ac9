#!/usr/bin/env lua
package.path = "./lib/?.lua;" .. package.path

local game = require "chess.game"

local function usage()
  io.stderr:write("usage: main.lua [file]\n")
  os.exit(2)
end

local function main(arguments)
  if #arguments > 1 then usage() end
  game.start()
  if arguments[1] then game.load(arguments[1]) end
end

function love.draw()
  print(game.board)
end

main(arg)
