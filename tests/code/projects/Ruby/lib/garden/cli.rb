require "optparse"

module Garden
  class CLI < Thor
    desc "water BED", "Water a bed"
    def water(bed)
      say Garden.plan(bed)
    end

    no_commands do
      def options_for(name)
        OptionParser.new do |parser|
          parser.on("--dry") { @dry = true }
        end
      end
    end

    begin
      require "colorize"

      def paint(text) = text.green
    rescue LoadError
      def paint(text) = text
    end

    if RUBY_VERSION >= "3.0"
      def modern? = true
    else
      def modern? = false
    end

    class Config < Struct.new(:path, :colour)
      def self.load(path = "~/.garden") = new(path, true)

      def path=(value)
        self[:path] = File.expand_path(value)
      end

      def save()
        File.write(path, to_h.to_json)
      end
    end
  end
end
