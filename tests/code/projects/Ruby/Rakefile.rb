require "rake/testtask"

def sources
  FileList["lib/**/*.rb"]
end

Rake::TestTask.new(:test) do |task|
  task.pattern = "test/**/*_test.rb"
end

namespace :docs do
  desc "Builds the documentation"
  task build: [:clean] do
    sh "rdoc", *sources
  end
end

task default: %i[test]
